const BASH = `# Completion of orchctl for bash.
_orchctl() {
  local line
  COMPREPLY=()
  # The words up to the cursor.
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(orchctl __complete -- "\${words[@]}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]] && compopt -o nospace
}
complete -o default -F _orchctl orchctl
`

const ZSH = `#compdef orchctl
# Completion of orchctl for zsh.
_orchctl() {
  local -a found
  found=("\${(@f)$(orchctl __complete -- "\${(@)words[2,$CURRENT]}" 2>/dev/null)}")
  compadd -Q -- "\${found[@]:#}"
}
compdef _orchctl orchctl
`

const FISH = `# Completion of orchctl for fish.
function __orchctl_complete
    set -l words (commandline -opc) (commandline -ct)
    orchctl __complete -- $words[2..-1] 2>/dev/null
end
complete -c orchctl -f -a '(__orchctl_complete)'
`

/** The script of each shell. */
export const SCRIPTS: ReadonlyMap<string, string> = new Map([
  ['bash', BASH],
  ['zsh', ZSH],
  ['fish', FISH],
])
