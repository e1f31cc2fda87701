package headrace.kernel.block;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;

/**
 * A key and its open block, in memory as the row ({@link Gather#TYPE}) that Spark will read, so
 * emitting it copies nothing. Once cleared, it reuses its memory for the next changes of the key.
 */
final class KeyedBlock extends BlockBuilder {
  /** A word of null bits and a word for each of the two columns, its offset and length. */
  private static final int HEAD = 24;

  final long hash;
  private final int keyLength;

  /** Copies the key; {@code room} is the block's first capacity. */
  KeyedBlock(long hash, UnsafeRow key, int room) {
    super(HEAD + Key.HASH + key.getSizeInBytes(), room + 8);
    this.hash = hash;
    this.keyLength = Key.HASH + key.getSizeInBytes();
    Platform.putLong(bytes(), AT, 0);
    Platform.putLong(bytes(), AT + 8, ((long) HEAD << 32) | keyLength);
    Key.write(hash, key, bytes(), AT + HEAD);
  }

  boolean isOf(UnsafeRow key) {
    int length = key.getSizeInBytes();
    return keyLength == Key.HASH + length
        && ByteArrayMethods.arrayEquals(
            key.getBaseObject(), key.getBaseOffset(), bytes(), AT + HEAD + Key.HASH, length);
  }

  /** Points the row to it. */
  void in(UnsafeRow row) {
    int end = HEAD + keyLength + size();
    int words = room((end + 7) / 8 * 8);
    for (int i = end; i < words; i++) bytes()[i] = 0;
    Platform.putLong(bytes(), AT + 16, ((long) (HEAD + keyLength) << 32) | size());
    row.pointTo(bytes(), AT, words);
  }
}
