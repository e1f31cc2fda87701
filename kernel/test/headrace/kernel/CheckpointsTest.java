package headrace.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CheckpointsTest {
  @TempDir Path folder;
  private Checkpoints checkpoints;

  @BeforeEach
  void onOurDisk() {
    Configuration hadoop = new Configuration();
    hadoop.set("fs.file.impl", LocalDisk.class.getName());
    checkpoints = new Checkpoints(path(""), hadoop);
  }

  private org.apache.hadoop.fs.Path path(String name) {
    return new org.apache.hadoop.fs.Path(folder.resolve(name).toUri());
  }

  private void write(String name, String text, boolean replace) throws IOException {
    try (OutputStream out = checkpoints.createAtomic(path(name), replace)) {
      out.write(text.getBytes());
    }
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  private String read(String name) throws IOException {
    try (var in = checkpoints.open(path(name))) {
      return new String(in.readAllBytes());
    }
  }

  @Test
  void aFileIsThereWithItsSumAndNothingElse() throws IOException {
    write("0", "offsets", false);
    assertEquals("offsets", read("0"));
    assertEquals(List.of(".0.crc", "0"), names());
  }

  @Test
  void whatHasANameIsNotReplaced() throws IOException {
    write("0", "first", false);
    assertThrows(FileAlreadyExistsException.class, () -> write("0", "second", false));
    assertEquals("first", read("0"));
  }

  @Test
  void unlessThatIsWanted() throws IOException {
    write("0", "first", true);
    write("0", "second, longer", true);
    assertEquals("second, longer", read("0"));
  }

  @Test
  void aFileThatIsGivenUpLeavesNothing() throws IOException {
    var out = checkpoints.createAtomic(path("0"), false);
    out.write(1);
    out.cancel();
    assertFalse(Files.exists(folder.resolve("0")));
    assertEquals(List.of(), names());
  }

  /** Whoever loses must leave the winner's file as it is, and its checksum too. */
  @Test
  void ofManyThatWriteAFileAtOnceOneWinsAndItCanBeRead() throws Exception {
    ExecutorService writers = Executors.newFixedThreadPool(4);
    try {
      for (int round = 0; round < 200; round++) {
        String name = Integer.toString(round);
        CyclicBarrier together = new CyclicBarrier(4);
        List<Callable<String>> tries = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          String text = "v1\nof writer " + i;
          tries.add(
              () -> {
                var out = checkpoints.createAtomic(path(name), false);
                out.write(text.getBytes());
                together.await();
                try {
                  out.close();
                  return text;
                } catch (FileAlreadyExistsException e) {
                  return null;
                }
              });
        }
        List<String> won = new ArrayList<>();
        for (Future<String> one : writers.invokeAll(tries))
          if (one.get() != null) won.add(one.get());
        assertEquals(List.of(read(name)), won);
      }
    } finally {
      writers.shutdown();
    }
  }

  @Test
  void aChecksumThatWasLeftBehindDoesNoHarm() throws IOException {
    write("0", "first", false);
    Files.delete(folder.resolve("0"));
    write("0", "second", false);
    assertEquals("second", read("0"));
    Files.delete(folder.resolve(".0.crc"));
    assertEquals("second", read("0"));
  }

  @Test
  void theStateIsForItsOwnerOnly() throws IOException {
    Configuration hadoop = new Configuration();
    hadoop.set("fs.file.impl", LocalDisk.class.getName());
    hadoop.set("fs.file.impl.disable.cache", "true");
    hadoop.set(LocalDisk.PRIVATE, folder.resolve("state").toString());
    var disk = new org.apache.hadoop.fs.Path(folder.toUri()).getFileSystem(hadoop);
    for (String name : List.of("state/a/0", "results/0")) disk.create(path(name)).close();
    assertEquals(
        "rw-------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve("state/a/0"))));
    assertEquals(
        "rw-r--r--",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve("results/0"))));
  }
}
