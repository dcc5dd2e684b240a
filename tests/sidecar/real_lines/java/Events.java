import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What is logged: one event a line of the file given, its fields apart by tabs, as remake.py writes them. */
final class Events {
    /** One event: a message with {} for each argument, and the exception it carries, or null. */
    record Event(String logger, String level, String message, Object[] arguments, Throwable thrown) {}

    private Events() {}

    static List<Event> read(String file) throws Exception {
        List<Event> events = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(file), StandardCharsets.UTF_8)) {
            String[] fields = line.split("\t", -1);
            Object[] arguments = fields[3].equals("-") ? new Object[0] : texts(fields[3], 1);
            events.add(new Event(fields[0], fields[1], text(fields[2]), arguments, thrown(fields[4])));
        }
        return events;
    }

    /** Exceptions from the outermost to its last cause, each as class and message. */
    private static Throwable thrown(String field) {
        if (field.equals("-")) {
            return null;
        }
        String[] parts = texts(field, 1);
        List<Throwable> chain = new ArrayList<>();
        for (int at = 0; at < parts.length; at += 2) {
            chain.add(made(parts[at], parts[at + 1]));
        }
        for (int at = 0; at + 1 < chain.size(); at++) {
            chain.get(at).initCause(chain.get(at + 1));
        }
        return chain.get(0);
    }

    private static Throwable made(String name, String message) {
        try {
            return (Throwable) Class.forName(name).getDeclaredConstructor(String.class).newInstance(message);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(name, impossible);
        }
    }

    private static String[] texts(String field, int from) {
        String[] parts = field.split("\\\\,", -1);
        String[] found = new String[parts.length - from];
        for (int at = from; at < parts.length; at++) {
            found[at - from] = text(parts[at]);
        }
        return found;
    }

    private static String text(String escaped) {
        return escaped.replace("\\n", "\n").replace("\\t", "\t").replace("\\e", "\u001b");
    }
}
