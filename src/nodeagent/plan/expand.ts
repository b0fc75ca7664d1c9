const REFERENCE = /\$(?:\$|\(([^()]*)\))/g

/**
 * Replaces `$(NAME)` by the variable's value, as the ecosystem does in commands
 * and environments: `$$(NAME)` stands for `$(NAME)`, and what is not known stays.
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(REFERENCE, (found: string, name: string | undefined) => {
    return name === undefined ? '$' : (variables.get(name) ?? found)
  })
}
