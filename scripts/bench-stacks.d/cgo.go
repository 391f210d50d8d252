package main

/*
#include <stdlib.h>
#include <string.h>
static int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int sorts(int n) {
	int *v = malloc(n * sizeof(*v)), r;
	for (int i = 0; i < n; i++) v[i] = (i * 7919) % 10007;
	qsort(v, n, sizeof(*v), less);
	r = v[n / 2];
	free(v);
	return r;
}
extern int goCallback(int);
static int calls_back(int n) { int s = 0; for (int i = 0; i < n; i++) s += goCallback(i); return s; }
*/
import "C"
import (
	"fmt"
	"sync"
)

//export goCallback
func goCallback(n C.int) C.int {
	s := 0
	for i := 0; i < 500; i++ {
		s += i * int(n) % 7
	}
	return C.int(s)
}

func main() {
	var wg sync.WaitGroup
	for i := 0; i < 60; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < 10; k++ {
				C.sorts(20000)
				C.calls_back(3000)
				fmt.Sprint(k)
			}
		}()
	}
	wg.Wait()
}
