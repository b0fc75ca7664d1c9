import { flagProblem } from '../../settings/flag-problem.ts'
import type { Problem } from '../../settings/problem.ts'
import { SETTINGS_TABLE } from '../config/fields/settings-table.ts'

/** What the program is to do. */
export type SubCommand =
  | { readonly verb: 'serve' }
  | { readonly verb: 'kubeconfig' }
  | { readonly verb: 'node-certificate' }
  | { readonly verb: 'backup' | 'restore'; readonly file: string }
  /** No file: the store of the configuration. */
  | { readonly verb: 'check'; readonly file: string | undefined }

export interface SubCommandLine {
  readonly command: SubCommand
  /** The arguments behind it. */
  readonly flags: readonly string[]
}

/** Splits `backup FILE --flags`, `restore FILE --flags`, `check [FILE] --flags`, `kubeconfig --flags`,
 * `node-certificate --flags`; flags alone mean to serve. */
export function splitSubCommand(args: readonly string[]): SubCommandLine | Problem {
  const [verb = '--', file = '--', ...flags] = args
  if (verb.startsWith('-')) return { command: { verb: 'serve' }, flags: args }
  if (verb === 'kubeconfig' || verb === 'node-certificate') {
    return { command: { verb }, flags: args.slice(1) }
  }
  if (verb === 'check') return splitCheck(args.slice(1))
  if (verb !== 'backup' && verb !== 'restore') {
    return flagProblem(
      SETTINGS_TABLE,
      verb,
      'no such command; write backup FILE, restore FILE, check [FILE], kubeconfig, node-certificate, or only flags to serve',
    )
  }
  if (['-h', '--help'].includes(file)) return { command: { verb: 'serve' }, flags: ['--help'] }
  return file === '' || file.startsWith('-')
    ? flagProblem(SETTINGS_TABLE, verb, `name the file right behind it: ${verb} FILE`)
    : { command: { verb, file }, flags }
}

function splitCheck(args: readonly string[]): SubCommandLine {
  const [file = '--', ...flags] = args
  if (args.some((arg) => ['-h', '--help'].includes(arg))) {
    return { command: { verb: 'serve' }, flags: ['--help'] }
  }
  return file === '' || file.startsWith('-')
    ? { command: { verb: 'check', file: undefined }, flags: args }
    : { command: { verb: 'check', file }, flags }
}
