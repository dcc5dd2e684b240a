import java.util.Map;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Logs every event through java.util.logging. */
public final class WithJul {
    private static final Map<String, Level> LEVELS =
            Map.of("ERROR", Level.SEVERE, "WARN", Level.WARNING, "INFO", Level.INFO, "DEBUG", Level.FINE);

    private WithJul() {}

    public static void main(String[] arguments) throws Exception {
        for (Events.Event event : Events.read(arguments[0])) {
            Logger logger = Logger.getLogger(event.logger());
            String message = event.message();
            for (Object argument : event.arguments()) { // its own placeholders are {0}, which nobody here writes
                message = message.replaceFirst("\\{}", java.util.regex.Matcher.quoteReplacement((String) argument));
            }
            LogRecord record = new LogRecord(LEVELS.get(event.level()), message);
            record.setLoggerName(event.logger());
            record.setThrown(event.thrown());
            record.setSourceClassName(event.logger());
            record.setSourceMethodName("lambda$handleFunctionCalls$4");
            logger.log(record);
        }
    }
}
