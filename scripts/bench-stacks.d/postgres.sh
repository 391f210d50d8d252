#!/bin/sh
# A new database, many small changes, and queries that sort and join: postgres.sh FOLDER
# The server refuses to be root: then it is the package's user.
set -e
for bin in /usr/lib/postgresql/*/bin; do :; done
data=$1/postgres
as_user() {
	if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}
rm -rf "$data"
mkdir "$data"
chmod a+x "$1"
[ "$(id -u)" != 0 ] || chown postgres "$data"
as_user "$bin/initdb" -D "$data/db" -A trust --no-sync
as_user "$bin/pg_ctl" -D "$data/db" -w -l "$data/log" -o "-k $data -c listen_addresses='' -c fsync=off" start
as_user "$bin/pgbench" -h "$data" -i -s 2 -q postgres
as_user "$bin/pgbench" -h "$data" -c 4 -t 500 postgres
as_user "$bin/psql" -h "$data" -q postgres -c "select count(*), sum(length(md5(a.aid::text))) from pgbench_accounts a
	join pgbench_accounts b on a.aid = b.aid group by a.bid order by 1"
as_user "$bin/pg_ctl" -D "$data/db" -w -m fast stop
