/* Three threads that take turns by a mutex and a condition, and write as they do.

   threads FOLDER: each thread appends its number to FOLDER/log twice; the mutex keeps
   two of them from writing over each other, and a barrier has all begin together. */

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 2 };

static const char *folder;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int finished;

static void append(int number) {
    char path[4096], bytes[4096];
    snprintf(path, sizeof path, "%s/log", folder);
    int log = open(path, O_RDWR | O_CREAT, 0666);
    ssize_t size = read(log, bytes, sizeof bytes);
    if (log < 0 || size < 0 || pwrite(log, &"012"[number], 1, size) != 1)
        exit(1);
    close(log);
}

static void *work(void *argument) {
    int number = (int)(long)argument;
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        append(number);
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_lock(&mutex);
    finished++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    if (count != 2)
        return 2;
    folder = arguments[1];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long number = 0; number < THREADS; number++)
        if (pthread_create(&threads[number], NULL, work, (void *)number))
            return 1;
    pthread_mutex_lock(&mutex);
    while (finished < THREADS)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    return 0;
}
