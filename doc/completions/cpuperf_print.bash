# bash completion of cpuperf_print; generated from its option table
# VALUE GLOB...: files that match one of them, and folders
_cpuperf_print_files() {
	local glob
	compopt -o filenames
	for glob in "${@:2}"; do
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -X "!$glob" -- "$1")
	done
	mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$1")
}
_cpuperf_print() {
	local cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} word value prev
	COMPREPLY=()
	word=${line##*[[:space:]]}
	line=${line%"$word"}
	line=${line%"${line##*[![:space:]]}"}
	value=$word prev=${line##*[[:space:]]}
	[[ $word == --*=* ]] && value=${word#*=} prev=${word%%=*}
	[[ $cur == "=" ]] && cur=
	case $prev in
	--session)
		_cpuperf_print_files "$cur" '*.cpsession' '*.cpuperf' '*.data'
		return
		;;
	--perf-data)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--host)
		return
		;;
	--rank)
		return
		;;
	--sysroot)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--debug-dir)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--source-dir)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--kallsyms)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--report)
		COMPREPLY=($(compgen -W "summary hosts imbalance heat records flat tree callers calls stacks annotate branches threads waits locks what-if causal heap sizes lifetimes memory regions diff series latency functions values changes top-down" -- "$cur"))
		return
		;;
	--diff)
		_cpuperf_print_files "$cur" '*.cpsession' '*.cpuperf' '*.data'
		return
		;;
	--fail-over)
		return
		;;
	--function)
		return
		;;
	--sort)
		COMPREPLY=($(compgen -W "function object comm cmdline pid tid thread cpu line iteration state reason region event session host rank total" -- "$cur"))
		return
		;;
	--group-by)
		COMPREPLY=($(compgen -W "process thread comm cmdline state host rank region" -- "$cur"))
		return
		;;
	--top)
		return
		;;
	--rows)
		return
		;;
	--idle)
		COMPREPLY=($(compgen -W "fold show" -- "$cur"))
		return
		;;
	--idle-rules)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--min-percent)
		return
		;;
	--max-depth)
		return
		;;
	--event)
		return
		;;
	--pid)
		return
		;;
	--tid)
		return
		;;
	--tree-of)
		return
		;;
	--comm)
		return
		;;
	--region)
		return
		;;
	--cmdline)
		return
		;;
	--cpu)
		return
		;;
	--iteration)
		return
		;;
	--from)
		return
		;;
	--to)
		return
		;;
	--merge)
		return
		;;
	--split)
		return
		;;
	--hide)
		return
		;;
	--only)
		return
		;;
	--speedup)
		return
		;;
	--output-format)
		COMPREPLY=($(compgen -W "text csv ndjson json markdown raw folded svg dot pprof otlp speedscope perfetto chrome openmetrics prometheus sqlite parquet html junit github perf-data" -- "$cur"))
		return
		;;
	--output-file)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--threads)
		return
		;;
	--push)
		return
		;;
	--push-name)
		return
		;;
	--push-label)
		return
		;;
	--push-credentials)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--push-ca)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--push-spool)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--push-limit)
		return
		;;
	--push-wait)
		return
		;;
	--log-file)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--log-format)
		COMPREPLY=($(compgen -W "text json" -- "$cur"))
		return
		;;
	--help)
		COMPREPLY=($(compgen -W "all" -- "$cur"))
		return
		;;
	esac
	if [[ $word != -* ]]; then
		_cpuperf_print_files "$cur" '*.cpsession' '*.cpuperf' '*.data'
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "--session= --perf-data= --by-session --by-host --host= --rank= --sysroot= --debug-dir= --source-dir= --kallsyms= --debuginfod --report= --each-iteration --diff= --counts --fail-over= --no-totals --within --function= --source --asm --sort= --group-by= --top= --rows= --idle= --idle-rules= --min-percent= --max-depth= --event= --pid= --tid= --tree-of= --comm= --region= --subtract-marks --cmdline= --cpu= --iteration= --from= --to= --merge= --merge-object --split= --hide= --only= --inline --native --wakers --lines --speedup= --live --serve --stdio --output-format= --output-file= --open --no-pager --threads= --push= --push-name= --push-label= --push-credentials= --push-ca= --push-spool= --push-limit= --push-wait= --push-waiting --verbose --quiet --log-file= --log-format= --help --version" -- "$cur")
	[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
}
complete -F _cpuperf_print cpuperf_print
