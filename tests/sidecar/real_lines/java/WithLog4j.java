import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.ThreadContext;

/** Logs every event through log4j 2. */
public final class WithLog4j {
    private WithLog4j() {}

    public static void main(String[] arguments) throws Exception {
        for (Events.Event event : Events.read(arguments[0])) {
            ThreadContext.put("session", "s-42");
            Object[] all = event.arguments();
            if (event.thrown() != null) { // a last argument that is an exception is the event's own
                all = java.util.Arrays.copyOf(all, all.length + 1, Object[].class);
                all[all.length - 1] = event.thrown();
            }
            LogManager.getLogger(event.logger()).log(Level.valueOf(event.level()), event.message(), all);
        }
    }
}
