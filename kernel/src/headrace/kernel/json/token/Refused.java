package headrace.kernel.json.token;

/**
 * Why a record is bad. Either the text is no JSON, or a value is not of its field's type; the
 * second kind gathers the path to the field on its way up. Carries no stack trace: bad records may
 * come in millions.
 */
public final class Refused extends RuntimeException {
  private static final int SHOWN = 40;
  private final StringBuilder path;

  private Refused(String cause, StringBuilder path) {
    super(cause, null, false, false);
    this.path = path;
  }

  static Refused syntax(String cause) {
    return new Refused(cause, null);
  }

  static Refused type(String cause) {
    return new Refused(cause, new StringBuilder());
  }

  public Refused inField(String name) {
    if (path != null) {
      if (!path.isEmpty() && path.charAt(0) != '[') path.insert(0, '.');
      path.insert(0, name);
    }
    return this;
  }

  public Refused inElement(int index) {
    if (path != null) {
      if (!path.isEmpty() && path.charAt(0) != '[') path.insert(0, '.');
      path.insert(0, "[" + index + "]");
    }
    return this;
  }

  /** The cause for people, on one line. */
  public String cause() {
    return oneLine(
        path == null || path.isEmpty() ? getMessage() : "field " + path + ": " + getMessage());
  }

  static String shorten(String text) {
    if (text.codePointCount(0, text.length()) <= SHOWN) return text;
    return text.substring(0, text.offsetByCodePoints(0, SHOWN)) + "...";
  }

  private static String oneLine(String text) {
    StringBuilder out = null;
    for (int i = 0; i < text.length(); i++) {
      char ch = text.charAt(i);
      boolean control = Character.isISOControl(ch) || ch == '\u2028' || ch == '\u2029';
      if (control && out == null) out = new StringBuilder(text.length() + 16).append(text, 0, i);
      if (out != null)
        out.append(control ? String.format("\\u%04x", (int) ch) : String.valueOf(ch));
    }
    return out == null ? text : out.toString();
  }
}
