# bash completion of cpuperf; generated from its option table
# WORD VALUE PROGRAM ARGUMENT...: from what the program prints
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
_cpuperf() {
	local cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} word value prev
	COMPREPLY=()
	word=${line##*[[:space:]]}
	line=${line%"$word"}
	line=${line%"${line##*[![:space:]]}"}
	value=$word prev=${line##*[[:space:]]}
	[[ $word == --*=* ]] && value=${word#*=} prev=${word%%=*}
	[[ $cur == "=" ]] && cur=
	case $prev in
	--spec-file)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--event)
		_cpuperf_values "$word" "$value" "$1" --list-events --quiet --output-format=names
		return
		;;
	--callgraph)
		COMPREPLY=($(compgen -W "fp dwarf hybrid aggregate" -- "$cur"))
		return
		;;
	--cgroup)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--output)
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
	--output-format)
		COMPREPLY=($(compgen -W "text csv ndjson names" -- "$cur"))
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
	--describe-event)
		_cpuperf_values "$word" "$value" "$1" --list-events --quiet --output-format=names
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
	esac
	mapfile -t COMPREPLY < <(compgen -W "--spec-file= --event= --frequency= --period= --callgraph --pid= --comm= --cgroup= --run-spec-command --no-children --attach --wait-children --regions --cpu= --hosts= --hosts-program= --hosts-timeout= --output= --save-spec= --save-alerts= --check-spec --control= --strict --live --no-live --no-sync --output-format= --output-file= --trace-marker --metrics-listen --metrics-things= --push= --push-name= --push-label= --push-credentials= --push-ca= --push-spool= --push-limit= --push-wait= --list-events --describe-event= --list-specs --config-name= --model-name= --flight-recorder= --buffer-size-in-mb= --duration= --num-iterations= --runs= --windows= --delay= --sync-period= --region-counts= --region-counts-every= --retain= --flush-interval= --max-own-cpu= --dump-file= --untouched= --compression= --output-path-prefix= --session-result-spec-path= --verbose --quiet --log-file= --log-format= --help --version" -- "$cur")
	[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
}
complete -F _cpuperf cpuperf
