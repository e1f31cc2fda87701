package headrace.kernel.log;

import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/** The local disk without permissions, for which Hadoop without its native library forks a {@code chmod} per file. */
public final class ForklessFileSystem extends RawLocalFileSystem {
  @Override
  public void setPermission(Path path, FsPermission permission) {}
}
