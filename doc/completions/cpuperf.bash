# bash completion of cpuperf; generated from its option table
# WORD VALUE PROGRAM ARGUMENT...: what the program prints
_cpuperf_values() {
	local word=$1 value=$2 line part
	local before=${word%"$value"} cut=${word%"${word##*["$COMP_WORDBREAKS"]}"}
	local -A seen=()
	while IFS= read -r line; do
		[[ $line == "$value"* ]] || continue
		part=${line:${#value}}
		[[ $part == *:* ]] && part=${part%%:*}:
		part=$before$value$part
		[[ ${seen[$part]-} ]] || COMPREPLY+=("${part#"$cut"}")
		seen[$part]=1
	done < <("${@:3}" 2>/dev/null)
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace
}
# VALUE GLOB...: files that match one of them, and folders
_cpuperf_files() {
	local glob
	compopt -o filenames
	for glob in "${@:2}"; do
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -X "!$glob" -- "$1")
	done
	mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$1")
}
# VALUE: processes, after the last comma
_cpuperf_pids() {
	local last=${1##*,} dir pid comm command shown=()
	for dir in /proc/[0-9]*; do
		pid=${dir##*/}
		[[ $pid == "$last"* ]] || continue
		IFS= read -r -d '' command <"$dir/cmdline" || continue
		IFS= read -r comm <"$dir/comm" || continue
		COMPREPLY+=("${1%"$last"}$pid")
		shown+=("${1%"$last"}$pid  ($comm)")
	done 2>/dev/null
	((${#shown[@]} < 2 || ${COMP_TYPE:-0} == 37)) || COMPREPLY=("${shown[@]}")
}
# VALUE: names of processes
_cpuperf_comms() {
	local dir comm command
	for dir in /proc/[0-9]*; do
		IFS= read -r -d '' command <"$dir/cmdline" || continue
		IFS= read -r comm <"$dir/comm" || continue
		[[ $comm != "$1"* || $comm == *[!A-Za-z0-9_.+-]* ]] || COMPREPLY+=("$comm")
	done 2>/dev/null
}
_cpuperf() {
	local cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} word value prev
	COMPREPLY=()
	word=${line##*[[:space:]]}
	line=${line%"$word"}
	line=${line%"${line##*[![:space:]]}"}
	value=$word prev=${line##*[[:space:]]}
	[[ $word == --*=* ]] && value=${word#*=} prev=${word%%=*}
	[[ $cur == "=" ]] && cur=
	if [[ " $line " == *' -- '* ]]; then
		compopt -o default
		[[ $prev != -- ]] || mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		return
	fi
	case $prev in
	--spec-file)
		_cpuperf_files "$cur" '*.cpspec'
		_cpuperf_values "$word" "$value" "$1" --list-specs --quiet --output-format=names
		return
		;;
	--event | -e)
		_cpuperf_values "$word" "$value" "$1" --list-events --quiet --output-format=names
		return
		;;
	--trace)
		COMPREPLY=($(compgen -W "functions" -- "$cur"))
		return
		;;
	--frequency | -F)
		return
		;;
	--period | -c)
		return
		;;
	--callgraph | -g)
		COMPREPLY=($(compgen -W "whole fp dwarf hybrid aggregate" -- "$cur"))
		return
		;;
	--pid | -p)
		_cpuperf_pids "$cur"
		return
		;;
	--comm)
		_cpuperf_comms "$cur"
		return
		;;
	--cgroup)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--cpu | -C)
		return
		;;
	--versus)
		return
		;;
	--sweep)
		return
		;;
	--speedup)
		return
		;;
	--progress)
		return
		;;
	--until)
		return
		;;
	--at-most)
		return
		;;
	--by)
		COMPREPLY=($(compgen -W "wall cpu_time peak_memory page_faults" -- "$cur"))
		return
		;;
	--setup)
		return
		;;
	--prepare)
		return
		;;
	--cleanup)
		return
		;;
	--input)
		_cpuperf_files "$cur" 'wall' 'cpu_time' 'peak_memory' 'page_faults'
		return
		;;
	--fail-over)
		return
		;;
	--hosts)
		return
		;;
	--hosts-program)
		return
		;;
	--send)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--hosts-timeout)
		return
		;;
	--output | -o)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--save-spec)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--save-alerts)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--control)
		return
		;;
	--output-format)
		COMPREPLY=($(compgen -W "text csv ndjson json markdown html junit github names" -- "$cur"))
		return
		;;
	--output-file)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--trace-marker)
		COMPREPLY=($(compgen -W "global" -- "$cur"))
		return
		;;
	--metrics-things)
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
	--describe-event)
		_cpuperf_values "$word" "$value" "$1" --list-events --quiet --output-format=names
		return
		;;
	--doctor)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--config-name)
		return
		;;
	--model-name)
		return
		;;
	--flight-recorder)
		return
		;;
	--buffer-size-in-mb)
		return
		;;
	--duration | -d)
		return
		;;
	--num-iterations | -n)
		return
		;;
	--runs | -r)
		return
		;;
	--windows)
		return
		;;
	--delay)
		return
		;;
	--sync-period)
		return
		;;
	--region-counts)
		return
		;;
	--region-counts-every)
		return
		;;
	--retain)
		return
		;;
	--flush-interval)
		return
		;;
	--max-own-cpu)
		return
		;;
	--dump-file)
		return
		;;
	--untouched)
		return
		;;
	--function-way)
		return
		;;
	--functions-include)
		return
		;;
	--functions-exclude)
		return
		;;
	--functions-min-instructions)
		return
		;;
	--functions-min-size)
		return
		;;
	--functions-callers-of)
		return
		;;
	--functions-depth)
		return
		;;
	--compression)
		return
		;;
	--output-path-prefix)
		return
		;;
	--session-result-spec-path)
		return
		;;
	--manifest)
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
	mapfile -t COMPREPLY < <(compgen -W "--spec-file= --event= --trace= --frequency= --period= --callgraph --pid= --comm= --cgroup= --run-spec-command --no-children --attach --memory-map --short-tasks --wait-children --regions --cpu= --versus= --sweep= --causal --speedup= --progress= --until= --at-most= --by= --setup= --prepare= --cleanup= --input= --ignore-status --verdict-only --fail-over= --hosts= --hosts-program= --send --hosts-timeout= --output= --save-spec= --save-alerts= --check-spec --control= --strict --live --top --no-live --no-sync --output-format= --output-file= --trace-marker --metrics-listen --metrics-things= --push= --push-name= --push-label= --push-credentials= --push-ca= --push-spool= --push-limit= --push-wait= --list-events --list-functions --describe-event= --list-specs --doctor --manual --config-name= --model-name= --flight-recorder= --buffer-size-in-mb= --duration= --num-iterations= --runs= --windows= --delay= --sync-period= --region-counts= --region-counts-every= --retain= --flush-interval= --max-own-cpu= --dump-file= --untouched= --function-way= --functions-include= --functions-exclude= --functions-min-instructions= --functions-min-size= --functions-loops --functions-callers-of= --functions-depth= --compression= --output-path-prefix= --session-result-spec-path= --manifest= --verbose --quiet --log-file= --log-format= --help --version" -- "$cur")
	[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
}
complete -F _cpuperf cpuperf
