package headrace.kernel.block;

import java.util.Arrays;
import java.util.Collection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Blocks by key: a hash table whose keys are in the blocks themselves. */
final class KeyedBlocks {
  private static final int FEWEST = 8;

  /** Open addressing with linear probing. At least half of the places are free. */
  private KeyedBlock[] places = new KeyedBlock[FEWEST];

  private long[] hashes = new long[FEWEST];
  private int count = 0;

  /** Null if there is none. */
  KeyedBlock get(long hash, UnsafeRow key) {
    for (int i = first(hash); places[i] != null; i = after(i)) {
      if (hashes[i] == hash && places[i].isOf(key)) return places[i];
    }
    return null;
  }

  /** Adds the block of a key that has none. */
  void add(KeyedBlock block) {
    if (++count * 2 > places.length) {
      KeyedBlock[] all = places;
      places = new KeyedBlock[all.length * 2];
      hashes = new long[places.length];
      for (KeyedBlock each : all) if (each != null) place(each);
    }
    place(block);
  }

  private void place(KeyedBlock block) {
    int i = first(block.hash);
    while (places[i] != null) i = after(i);
    places[i] = block;
    hashes[i] = block.hash;
  }

  /** Moves the blocks that are not empty, and clears the table. */
  void moveTo(Collection<KeyedBlock> others) {
    if (count == 0) return;
    for (KeyedBlock each : places) if (each != null && !each.isEmpty()) others.add(each);
    Arrays.fill(places, null);
    count = 0;
  }

  private int first(long hash) {
    return (int) (hash ^ hash >>> 32) & (places.length - 1);
  }

  private int after(int i) {
    return i + 1 & (places.length - 1);
  }
}
