package headrace.kernel.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.spark.kafka010.KafkaTokenUtil;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.FieldVisitor;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.junit.jupiter.api.Test;

/**
 * Spark's Kafka connector has another version than Spark (CONTRIBUTING.md says why). Every class,
 * method and field of Spark and Kafka that the connector's code names must exist, or some path
 * through it would end in a NoSuchMethodError at run time.
 */
class ConnectorTest {
  /** A class as its file says: what it has, and where it looks for what it has not. */
  private record Known(Set<String> members, List<String> above) {}

  /**
   * Log messages of a delegation token that can't be had; Headrace offers no Kerberos, so none is
   * ever asked for.
   */
  private static final Set<String> UNREACHED =
      Set.of(
          "org/apache/spark/internal/LogKeys$CLUSTER_ID$.MODULE$:Lorg/apache/spark/internal/LogKeys$CLUSTER_ID$;",
          "org/apache/spark/internal/LogKeys$SERVICE_NAME$.MODULE$:Lorg/apache/spark/internal/LogKeys$SERVICE_NAME$;");

  private final Map<String, Known> known = new HashMap<>();

  @Test
  void everyMemberThatTheConnectorNamesExists() throws Exception {
    Set<String> missing = new TreeSet<>();
    int asked = 0;
    for (Class<?> inside : List.of(KafkaMicroBatchStream.class, KafkaTokenUtil.class)) {
      Path jar = Path.of(inside.getProtectionDomain().getCodeSource().getLocation().toURI());
      try (JarFile file = new JarFile(jar.toFile())) {
        for (JarEntry entry :
            (Iterable<JarEntry>)
                file.stream().filter(e -> e.getName().endsWith(".class"))::iterator) {
          Named named = new Named();
          try (InputStream in = file.getInputStream(entry)) {
            new ClassReader(in).accept(named, ClassReader.SKIP_DEBUG);
          }
          for (String[] member : named.found) {
            asked++;
            if (!exists(member[0], member[1])) missing.add(member[0] + "." + member[1]);
          }
        }
      }
    }
    assertTrue(asked > 2000, "only " + asked);
    assertEquals(new TreeSet<>(UNREACHED), missing);
  }

  private boolean exists(String owner, String member) throws IOException {
    Deque<String> open = new ArrayDeque<>(List.of(owner));
    Set<String> seen = new HashSet<>();
    while (!open.isEmpty()) {
      String next = open.pop();
      if (!seen.add(next)) continue;
      Known found = known(next);
      if (found == null) return false;
      if (found.members.contains(member)) return true;
      open.addAll(found.above);
    }
    return false;
  }

  private Known known(String name) throws IOException {
    if (known.containsKey(name)) return known.get(name);
    try (InputStream in = ClassLoader.getSystemResourceAsStream(name + ".class")) {
      known.put(name, in == null ? null : read(in));
    }
    return known.get(name);
  }

  private static Known read(InputStream in) throws IOException {
    Set<String> members = new HashSet<>();
    List<String> above = new ArrayList<>();
    ClassVisitor visitor =
        new ClassVisitor(Opcodes.ASM9) {
          @Override
          public void visit(
              int version,
              int access,
              String name,
              String signature,
              String parent,
              String[] interfaces) {
            if (parent != null) above.add(parent);
            above.addAll(List.of(interfaces));
          }

          @Override
          public MethodVisitor visitMethod(
              int access, String name, String descriptor, String signature, String[] exceptions) {
            members.add(name + descriptor);
            return null;
          }

          @Override
          public FieldVisitor visitField(
              int access, String name, String descriptor, String signature, Object value) {
            members.add(name + ":" + descriptor);
            return null;
          }
        };
    new ClassReader(in).accept(visitor, ClassReader.SKIP_CODE);
    return new Known(members, above);
  }

  /** What the code of a class names of Spark and Kafka: owner, and name with type. */
  private static final class Named extends ClassVisitor {
    private final List<String[]> found = new ArrayList<>();

    private Named() {
      super(Opcodes.ASM9);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      return new MethodVisitor(Opcodes.ASM9) {
        @Override
        public void visitMethodInsn(
            int opcode, String owner, String called, String type, boolean isInterface) {
          add(owner, called + type);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String field, String type) {
          add(owner, field + ":" + type);
        }
      };
    }

    private void add(String owner, String member) {
      if (owner.startsWith("org/apache/spark/") || owner.startsWith("org/apache/kafka/"))
        found.add(new String[] {owner, member});
    }
  }
}
