package headrace.kernel;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local disk for checkpoints. Hadoop without its native library forks a {@code chmod} for every
 * file it creates, which is most of the time of a small micro-batch; Java sets permissions itself.
 * A LocalFileSystem, because RocksDB's state store casts to it for snapshots.
 */
public final class LocalDisk extends LocalFileSystem {
  /**
   * The setting with the folder whose files are for their owner only, whatever other mode is set.
   */
  public static final String PRIVATE = "headrace.private";

  public LocalDisk() {
    super(new Disk());
  }

  /** How the state store brings its files into a checkpoint. */
  @Override
  public void copyFromLocalFile(
      boolean move, boolean replace, org.apache.hadoop.fs.Path from, org.apache.hadoop.fs.Path to)
      throws IOException {
    super.copyFromLocalFile(move, replace, from, to);
    Path file = pathToFile(to).toPath();
    if (Files.isRegularFile(file)) {
      Checkpoints.force(file);
      Checkpoints.force(file.getParent());
    }
  }

  private static final class Disk extends RawLocalFileSystem {
    @Override
    public void setPermission(org.apache.hadoop.fs.Path path, FsPermission permission)
        throws IOException {
      Path file = pathToFile(path).toPath();
      PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
      if (view != null) {
        String others = permission.getGroupAction().SYMBOL + permission.getOtherAction().SYMBOL;
        String bits = permission.getUserAction().SYMBOL + (isPrivate(file) ? "------" : others);
        view.setPermissions(PosixFilePermissions.fromString(bits));
      }
    }

    /** The state of applications, in which are the users' data. */
    private boolean isPrivate(Path file) {
      String root = getConf().get(PRIVATE, "");
      return !root.isEmpty() && file.toAbsolutePath().normalize().startsWith(Path.of(root));
    }
  }
}
