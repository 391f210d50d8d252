#!/bin/sh
# A server with a client that sets, gets and sorts, and a script: redis.sh FOLDER
set -e
socket=$1/redis.sock
redis-server --port 0 --unixsocket "$socket" --save "" --dir "$1" >"$1/redis.log" &
until redis-cli -s "$socket" ping >"$1/ping" 2>&1; do sleep 0.1; done
redis-benchmark -q -s "$socket" -n 20000 -r 1000 -d 100 -P 8 -t set,get,lpush,sadd,zadd,lrange_100
redis-cli -s "$socket" eval 'local s = 0 for i = 1, 3000000 do s = s + i % 7 end return s' 0
redis-cli -s "$socket" shutdown nosave
wait
