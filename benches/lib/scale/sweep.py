"""The sweep: once a minute the reaper checks the locks that are due, one shard after the other."""
import heapq

# Requests of a check: it reads the record, reads it again for the new time, and writes it.
CHECK_REQUESTS = 3
# Further requests for a dead holder: DescribeExecution, ListTasks, a read and a write that free its permit,
# SendTaskSuccess to its heartbeat, PutEvents.
DEAD_REQUESTS = 6
# Lambda retries an asynchronous call after one second, and then each time after twice as long, at most five minutes.
ASYNC_FIRST, ASYNC_MOST = 1.0, 300.0


def async_wait(tries):
    return min(ASYNC_MOST, ASYNC_FIRST * 2 ** min(tries, 9))


class Sweep:
    """The index of due locks as heaps, one for each shard. An entry is valid while its run holds the lock."""

    def __init__(self, region, table_ms, scale=1.0):
        self.region, self.clock, self.settings, self.scale = region, region.clock, region.settings, scale
        # One simulated lock stands for `scale` locks, so a page has fewer entries, but takes as long as a whole page.
        self.size = max(1, round(self.settings.page / scale))
        self.request = table_ms / 1000 * self.size * scale / self.settings.page
        self.shards = [[] for _ in range(self.settings.shards)]
        self.order = 0
        self.sweeps = []

    def begin(self):
        self.clock.after(self.settings.sweep_every, self.start)

    def grant(self, run):
        run.due = run.lease_end
        self.put(run)

    def put(self, run):
        self.order += 1
        heapq.heappush(self.shards[run.lock % len(self.shards)], (run.due, self.order, run))

    def start(self):
        self.begin()
        self.sweeps.append({"due": self.due(), "checked": 0, "seconds": None, "finished": False})
        self.invoke(self.sweeps[-1], len(self.sweeps) % len(self.shards), 0)

    def invoke(self, sweep, first, tries):
        """Invokes the reaper. Lambda retries an asynchronous call for which it has no concurrency."""
        blocked, _ = self.region.enter("reaper")
        if blocked:
            wait = self.region.random.uniform(0, async_wait(tries))
            return self.clock.after(wait, self.invoke, sweep, first, tries + 1)
        self.page(sweep, self.clock.now, first, 0)

    def due(self):
        """Drops the entries of runs that no longer hold a lock, and returns the number of locks that are due now."""
        count = 0
        for number, shard in enumerate(self.shards):
            kept = [entry for entry in shard if not entry[2].released and entry[0] == entry[2].due]
            heapq.heapify(kept)
            self.shards[number] = kept
            count += sum(entry[0] + self.settings.dead_after <= self.clock.now for entry in kept)
        return count

    def page(self, sweep, begin, first, done):
        """Checks the locks of one page of a shard, AT_ONCE at a time, and schedules the next page."""
        now, settings = self.clock.now, self.settings
        if done == len(self.shards):
            return self.over(sweep, begin, True)
        shard = self.shards[(first + done) % len(self.shards)]
        runs = self.first_of(shard, now)
        checks = -(-len(runs) * settings.page // self.size // settings.at_once)
        seconds = self.request * (1 + CHECK_REQUESTS * checks)
        in_time = now < begin + settings.sweep_most
        if runs and not in_time:
            for run in runs:
                self.put(run)
            return self.over(sweep, begin, False)
        for run in runs:
            seconds += self.check(run) / settings.at_once
        sweep["checked"] += len(runs)
        done += len(runs) < self.size
        self.clock.after(seconds, self.page, sweep, begin, first, done)

    def first_of(self, shard, now):
        runs = []
        while shard and len(runs) < self.size and shard[0][0] + self.settings.dead_after <= now:
            due, _, run = heapq.heappop(shard)
            if not run.released and due == run.due:
                runs.append(run)
        return runs

    def check(self, run):
        """Sets the due time of a live holder to the end of its lease. Returns the seconds lost to throttling."""
        region, settings = self.region, self.settings
        region.take("table-read", CHECK_REQUESTS - 1)
        blocked = region.write(run.lock, settings.units["reschedule"], 2 * settings.units["entry"])
        run.due = max(run.lease_end, self.clock.now + settings.look_again)
        self.put(run)
        return region.sdk_wait(1) if blocked else 0.0

    def over(self, sweep, begin, finished):
        sweep["seconds"], sweep["finished"] = self.clock.now - begin, finished
        self.region.leave("reaper")


def capacity(settings, table_ms, describe=None, dead=False):
    """Returns how many locks one sweep can check in its time, with its own pace and with the quota of DescribeExecution."""
    requests = CHECK_REQUESTS + (DEAD_REQUESTS if dead else 0)
    page = table_ms / 1000 * (1 + requests * -(-settings.page // settings.at_once))
    pages = int(settings.sweep_most / page) + 1
    most = pages * settings.page
    if dead and describe:
        rate, size = describe
        most = min(most, int(size + rate * settings.sweep_most))
    return most
