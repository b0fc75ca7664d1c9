import { type CommandLine, type GivenFlag, PORT_FLAGS } from './command-line.ts'
import type { FieldPath } from './configuration.ts'
import { FIELD_BY_PATH } from './fields/index.ts'
import { IGNORED_FLAGS } from './ignored-fields.ts'
import { type Problem, quote } from './problem.ts'
import type { Setting } from './settings.ts'
import { type Decoded, refuse } from './value-type.ts'

export interface DecodedFlags {
  readonly settings: ReadonlyMap<FieldPath, Setting>
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
}

/**
 * The settings that flags give. A list flag given several times adds up; of any
 * other the last counts. The deprecated port flags give way to their successors.
 */
export function decodeFlags(line: CommandLine): DecodedFlags {
  const settings = new Map<FieldPath, Setting>()
  const problems: Problem[] = []
  const warnings: Problem[] = []
  for (const given of effective(line.settings)) {
    const decoded = decode(given, settings)
    if (decoded.ok) {
      settings.set(given.path, {
        value: decoded.value,
        origin: { from: 'flag', flag: given.flag },
      })
    } else {
      const value = quote(given.text)
      problems.push(flagProblem(given.flag, value, decoded.remedy))
    }
    if (given.flag in PORT_FLAGS) {
      const { instead } = PORT_FLAGS[given.flag as keyof typeof PORT_FLAGS]
      warnings.push(flagProblem(given.flag, undefined, `deprecated; use --${instead}`))
    }
  }
  for (const flag of line.ignored) {
    warnings.push(flagProblem(flag, undefined, `ignored: ${IGNORED_FLAGS.get(flag) ?? 'unused'}`))
  }
  return { settings, problems, warnings }
}

/** One flag for each setting: lists joined, otherwise the last, a port flag only when alone. */
function effective(flags: readonly GivenFlag[]): readonly GivenFlag[] {
  const byPath = new Map<FieldPath, GivenFlag>()
  for (const given of flags) {
    const before = byPath.get(given.path)
    const isList = FIELD_BY_PATH.get(given.path)?.type.isList === true
    if (before === undefined) byPath.set(given.path, given)
    else if (isList && before.text !== '') {
      byPath.set(given.path, { ...given, text: `${before.text},${given.text}` })
    } else if (!(given.flag in PORT_FLAGS) || before.flag in PORT_FLAGS) {
      byPath.set(given.path, given)
    }
  }
  return [...byPath.values()]
}

function decode(given: GivenFlag, settings: ReadonlyMap<FieldPath, Setting>): Decoded<unknown> {
  const field = FIELD_BY_PATH.get(given.path)
  if (field === undefined) return refuse('unknown setting')
  if (!(given.flag in PORT_FLAGS)) return field.type.fromFlag(given.text)
  if (given.text === '0') return field.type.fromFlag('')
  if (!/^[1-9][0-9]{0,4}$/.test(given.text))
    return refuse('write a port from 1 to 65535, or 0 for none')
  const bindAddress = settings.get('bindAddress')?.value
  const v6 = typeof bindAddress === 'string' && bindAddress.includes(':')
  const ip =
    given.path === 'healthzBindAddress' ? (v6 ? '[::]' : '0.0.0.0') : v6 ? '[::1]' : '127.0.0.1'
  return field.type.fromFlag(`${ip}:${given.text}`)
}

function flagProblem(flag: string, value: string | undefined, message: string): Problem {
  return { code: 'NP_NODEPROXY_FLAG', at: undefined, field: `--${flag}`, value, message }
}
