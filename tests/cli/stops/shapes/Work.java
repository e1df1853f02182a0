import java.nio.file.Files;
import java.nio.file.Path;

/** Saves its state in a shutdown hook, which takes $SAVING seconds. */
class Work {
    public static void main(String[] arguments) throws Exception {
        Path state = Path.of(System.getenv("STATE"));
        long millis = (long) (Double.parseDouble(System.getenv("SAVING")) * 1000);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                Thread.sleep(millis);
                Files.writeString(state.resolve("saved"), "saved\n");
            } catch (Exception error) {
                error.printStackTrace();
            }
        }));
        Files.writeString(state.resolve("up"), "up\n");
        Thread.currentThread().join();
    }
}
