# bash completion of cpuperf; generated from its option table
_cpuperf() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	COMPREPLY=()
	if [[ $cur == "=" ]]; then cur=; elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
	case $prev in
	--spec-file)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--output-format)
		COMPREPLY=($(compgen -W "text csv ndjson" -- "$cur"))
		return
		;;
	--log-file)
		compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "--spec-file= --check-spec --strict --output-format= --list-events --describe-event= --list-specs --config-name= --model-name= --buffer-size-in-mb= --duration= --num-iterations= --output-path-prefix= --session-result-spec-path= --verbose --quiet --log-file= --help --version" -- "$cur")
	[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
}
complete -F _cpuperf cpuperf
