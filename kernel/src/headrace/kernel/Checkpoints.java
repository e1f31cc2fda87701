package headrace.kernel;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Checkpoints on the local disk that outlive a loss of power: a file is on disk before it has its
 * name, the name is on disk before the file counts, and no file is replaced unless Spark requests
 * it.
 */
public final class Checkpoints extends FileSystemBasedCheckpointFileManager {
  public Checkpoints(org.apache.hadoop.fs.Path path, Configuration hadoop) {
    super(path, hadoop);
  }

  @Override
  public void renameTempFile(
      org.apache.hadoop.fs.Path from, org.apache.hadoop.fs.Path to, boolean replace) {
    LocalFileSystem disk = (LocalFileSystem) fs();
    Path part = disk.pathToFile(from).toPath();
    Path file = disk.pathToFile(to).toPath();
    Path partSum = disk.pathToFile(disk.getChecksumFile(from)).toPath();
    Path sum = disk.pathToFile(disk.getChecksumFile(to)).toPath();
    try {
      if (!replace && Files.exists(file)) throw new FileAlreadyExistsException(file.toString());
      force(part);
      if (Files.exists(partSum)) force(partSum);
      // A file without a checksum can be read; one with another file's can't. So the checksum comes
      // last, and only that of the file that got the name.
      Files.deleteIfExists(sum);
      if (replace) {
        Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
      } else {
        // Unlike a rename, a link fails if the file exists by now.
        Files.createLink(file, part);
        Files.delete(part);
      }
      if (Files.exists(partSum))
        Files.move(
            partSum, sum, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
      force(file.getParent());
    } catch (FileAlreadyExistsException e) {
      throw sneaky(new org.apache.hadoop.fs.FileAlreadyExistsException(file + " exists already"));
    } catch (IOException e) {
      throw sneaky(e);
    }
  }

  /** To the disk, of a folder the names in it. */
  static void force(Path path) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  /** Scala declares no exceptions, and Spark expects these as they are. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException sneaky(Throwable e) throws E {
    throw (E) e;
  }
}
