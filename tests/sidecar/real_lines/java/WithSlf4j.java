import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/** Logs every event through SLF4J, to whatever is bound to it: logback, slf4j-simple, java.util.logging. */
public final class WithSlf4j {
    private WithSlf4j() {}

    public static void main(String[] arguments) throws Exception {
        for (Events.Event event : Events.read(arguments[0])) {
            MDC.put("session", "s-42");
            Logger logger = LoggerFactory.getLogger(event.logger());
            Object[] all = event.arguments();
            if (event.thrown() != null) { // SLF4J takes a last argument that is an exception for the event's own
                all = java.util.Arrays.copyOf(all, all.length + 1, Object[].class);
                all[all.length - 1] = event.thrown();
            }
            switch (event.level()) {
                case "ERROR" -> logger.error(event.message(), all);
                case "WARN" -> logger.warn(event.message(), all);
                case "INFO" -> logger.info(event.message(), all);
                default -> logger.debug(event.message(), all);
            }
        }
    }
}
