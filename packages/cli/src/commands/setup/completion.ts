// `castellan completion`: the script that makes a shell complete commands, options and their values.
import { argumentOf, COMPLETE, type Declaration } from '../../command.ts';

// The words that are typed reach the program as they are. A script that evaluated them would run `$(…)` in them.
const scripts: Readonly<Record<string, string>> = {
  bash: `_castellan() {
  local found
  COMPREPLY=()
  while IFS= read -r found; do
    COMPREPLY+=("$found")
  done < <(castellan ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _castellan castellan`,
  zsh: `#compdef castellan
_castellan() {
  local -a found
  found=("\${(@f)$(castellan ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found[1]" ]]; then compadd -a found; else _files; fi
}
if [[ "\${funcstack[1]}" = _castellan ]]; then _castellan "$@"; else compdef _castellan castellan; fi`,
  fish: `function __castellan_complete
  set -l words (commandline -opc)
  set -l found (castellan ${COMPLETE} $words[2..-1] "$(commandline -ct)" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$(commandline -ct)"
  end
end
complete -c castellan -f -a '(__castellan_complete)'`,
};

export const declaration: Declaration = {
  arguments: [{ name: '<shell>', help: 'The shell to write the script for.', choices: Object.keys(scripts) }],
  details: [
    'bash: add  source <(castellan completion bash)  to ~/.bashrc',
    'zsh:  add  source <(castellan completion zsh)  to ~/.zshrc, after compinit',
    'fish: castellan completion fish > ~/.config/fish/completions/castellan.fish',
  ],
  run: async (call) => call.print(scripts[argumentOf(call, 'shell')] ?? ''),
};
