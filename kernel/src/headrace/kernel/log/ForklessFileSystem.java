package headrace.kernel.log;

import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local disk for checkpoints of tests: no checksum files, and no permissions, for which Hadoop without its native
 * library forks a {@code chmod} per file. A LocalFileSystem, because RocksDB's state store casts to it for snapshots.
 */
public final class ForklessFileSystem extends LocalFileSystem {
  public ForklessFileSystem() {
    super(new Disk());
    setWriteChecksum(false);
    setVerifyChecksum(false);
  }

  private static final class Disk extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) {}
  }
}
