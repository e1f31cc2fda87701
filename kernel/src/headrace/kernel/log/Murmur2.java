package headrace.kernel.log;

/** The hash by which Kafka's default partitioner deals keys to partitions. */
final class Murmur2 {
  private static final int SEED = 0x9747b28c;
  private static final int M = 0x5bd1e995;

  private Murmur2() {}

  static int hash(byte[] data) {
    int length = data.length;
    int h = SEED ^ length;
    for (int i = 0; i + 4 <= length; i += 4) {
      int k =
          (data[i] & 0xff)
              | (data[i + 1] & 0xff) << 8
              | (data[i + 2] & 0xff) << 16
              | (data[i + 3] & 0xff) << 24;
      k *= M;
      k ^= k >>> 24;
      k *= M;
      h = h * M ^ k;
    }
    int tail = length & ~3;
    if (length - tail > 2) h ^= (data[tail + 2] & 0xff) << 16;
    if (length - tail > 1) h ^= (data[tail + 1] & 0xff) << 8;
    if (length - tail > 0) {
      h ^= data[tail] & 0xff;
      h *= M;
    }
    h ^= h >>> 13;
    h *= M;
    return h ^ h >>> 15;
  }
}
