package rubble.bot;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads that do not keep a process: whoever stops does not wait for a long thought. */
final class Daemons {
    private Daemons() {}

    static ThreadFactory named(String name) {
        var count = new AtomicInteger();
        return task -> {
            var thread = new Thread(task, name + "-" + count.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }
}
