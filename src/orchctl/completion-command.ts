import type { Command } from 'commander'
import { nearest } from '../lib/nearest.ts'
import { quote } from '../lib/quote.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { usageError } from './usage/exit-code.ts'

const BASH = `# Completion of orchctl for bash.
_orchctl() {
  local line word broken
  local -a words
  COMPREPLY=()
  # The words up to the cursor. COMP_WORDS has others, because readline breaks words at = and :, too.
  read -ra words <<<"\${COMP_LINE:0:COMP_POINT}"
  [[ "\${COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=('')
  word=\${words[\${#words[@]}-1]}
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <("\${words[0]}" __complete -- "\${words[@]:1}" 2>/dev/null)
  # Readline replaces only what stands behind the last = or :.
  broken=\${word%"\${word##*[=:]}"}
  COMPREPLY=("\${COMPREPLY[@]#"$broken"}")
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[/=:] ]] && compopt -o nospace
  return 0
}
complete -o default -F _orchctl orchctl
`

const ZSH = `#compdef orchctl
# Completion of orchctl for zsh; it needs compinit.
_orchctl() {
  local -a found
  found=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  found=("\${(@)found:#}")
  if (( \${#found} == 0 )); then
    _files
    return
  fi
  # What goes on behind / and = gets no space.
  compadd -Q -S '' -- "\${(@M)found:#*[/=:]}"
  compadd -Q -- "\${(@)found:#*[/=:]}"
}
if [ "$funcstack[1]" = _orchctl ]; then
  _orchctl "$@"
else
  compdef _orchctl orchctl
fi
`

const FISH = `# Completion of orchctl for fish.
function __orchctl_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete -- $words[2..-1] 2>/dev/null
end
function __orchctl_wants_file
    contains -- (commandline -opc)[-1] -f --filename --kubeconfig --certificate-authority --from-file --from-env-file --cert --key
end
complete -c orchctl -f -a '(__orchctl_complete)'
complete -c orchctl -n __orchctl_wants_file -F
`

/** The script of each shell. */
const SCRIPTS: ReadonlyMap<string, string> = new Map([
  ['bash', BASH],
  ['zsh', ZSH],
  ['fish', FISH],
])

const ABOUT = `
Completion requests the types and names from the server when a key is pressed.

  bash:  source <(orchctl completion bash)
  zsh:   source <(orchctl completion zsh)
  fish:  orchctl completion fish | source
`

/** `orchctl completion SHELL`. */
export function define(command: Command, context: CommandContext): void {
  command.argument('<shell>', 'bash, zsh or fish').addHelpText('after', ABOUT)
  runs(command, context, completion)
}

const completion: Run<object> = ([shell = ''], _flags, context) => {
  const script = SCRIPTS.get(shell)
  if (script === undefined) {
    const meant = nearest(shell, SCRIPTS.keys())
    const hint = meant === undefined ? 'write bash, zsh or fish' : `did you mean ${meant}?`
    throw usageError(`there is no completion for ${quote(shell)}`, hint)
  }
  context.print(script)
  return Promise.resolve(0)
}
