/* Let an hour pass in one of several ways; say how much did, by each clock.

   sleeper WAY
*/
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock)
{
    struct timespec value;
    clock_gettime(clock, &value);
    return value.tv_sec + value.tv_nsec / 1e9;
}

static double by_call(void)
{
    struct timespec value;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &value);
    return value.tv_sec + value.tv_nsec / 1e9;
}

static double of_day(void)
{
    struct timeval value;
    gettimeofday(&value, NULL);
    return value.tv_sec + value.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    double real = now(CLOCK_REALTIME), monotonic = now(CLOCK_MONOTONIC);
    double day = of_day(), seconds = time(NULL);
    struct timespec hour = {.tv_sec = 3600}, end;
    struct timeval value = {.tv_sec = 3600};

    if (strcmp(way, "sleep") == 0) {
        sleep(3600);
    } else if (strcmp(way, "usleep") == 0) {
        for (int part = 0; part < 4; part++)
            usleep(900 * 1000000u);
    } else if (strcmp(way, "nanosleep") == 0) {
        nanosleep(&hour, NULL);
    } else if (strcmp(way, "clock_nanosleep") == 0) {
        clock_nanosleep(CLOCK_REALTIME, 0, &hour, NULL);
    } else if (strcmp(way, "until") == 0) {
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += 3600;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    } else if (strcmp(way, "select") == 0) {
        select(0, NULL, NULL, NULL, &value);
    } else if (strcmp(way, "poll") == 0) {
        poll(NULL, 0, 3600 * 1000);
    } else if (strcmp(way, "spin") == 0) {
        while (now(CLOCK_MONOTONIC) < monotonic + 3600)
            ;
    } else if (strcmp(way, "spin_time") == 0) {
        while (time(NULL) < seconds + 3600)
            ;
    } else if (strcmp(way, "spin_day") == 0) {
        while (of_day() < day + 3600)
            ;
    } else if (strcmp(way, "spin_by_call") == 0) {
        double last = by_call() + 3600;
        while (by_call() < last)
            ;
    } else {
        return 2;
    }
    printf("%.6f %.6f %.6f %.0f\n", now(CLOCK_REALTIME) - real,
           now(CLOCK_MONOTONIC) - monotonic, of_day() - day, time(NULL) - seconds);
    return 0;
}
