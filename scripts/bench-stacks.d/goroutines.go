package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
)

type item struct {
	Name string
	List []int
}

func work(n int) int {
	m := map[string]int{}
	for i := 0; i < 3000; i++ {
		m[fmt.Sprintf("k%d", i*n)] = i
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(a, b int) bool { return keys[a] < keys[b] })
	text, _ := json.Marshal(item{strings.Join(keys, ","), make([]int, 500)})
	var out item
	_ = json.Unmarshal(text, &out)
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 5)
	_, _ = w.Write(text)
	_ = w.Close()
	return int(sha256.Sum256(b.Bytes())[0])
}

func main() {
	var wg sync.WaitGroup
	sum := make(chan int, 16)
	for i := 1; i <= 200; i++ {
		wg.Add(1)
		go func(n int) {
			defer wg.Done()
			sum <- work(n)
		}(i)
	}
	go func() { wg.Wait(); close(sum) }()
	total := 0
	for n := range sum {
		total += n
	}
	fmt.Println(total)
}
