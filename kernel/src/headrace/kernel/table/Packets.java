package headrace.kernel.table;

import java.util.Arrays;
import java.util.Collection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Packets by key: a hash table whose keys lie in the packets themselves. */
final class Packets {
  private static final int FEWEST = 8;

  /** Places are tried one after the other, from the one that the hash says. At least half of them are free. */
  private Packet[] places = new Packet[FEWEST];
  private long[] hashes = new long[FEWEST];
  private int count = 0;

  /** Null if there is none. */
  Packet get(long hash, UnsafeRow key) {
    for (int i = first(hash); places[i] != null; i = after(i)) {
      if (hashes[i] == hash && places[i].isOf(key)) return places[i];
    }
    return null;
  }

  /** One of a key that has none yet. */
  void add(Packet packet) {
    if (++count * 2 > places.length) {
      Packet[] all = places;
      places = new Packet[all.length * 2];
      hashes = new long[places.length];
      for (Packet each : all) if (each != null) place(each);
    }
    place(packet);
  }

  private void place(Packet packet) {
    int i = first(packet.hash);
    while (places[i] != null) i = after(i);
    places[i] = packet;
    hashes[i] = packet.hash;
  }

  /** Forgets all, and moves those that are not empty. */
  void moveTo(Collection<Packet> others) {
    if (count == 0) return;
    for (Packet each : places) if (each != null && !each.isEmpty()) others.add(each);
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
