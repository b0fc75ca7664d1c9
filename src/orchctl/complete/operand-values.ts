import type { CommandContext } from '../command/context.ts'
import { kubeconfigNames, VERBS } from './flag-values.ts'
import { objectNames, portNumbers, typeNames } from './server-names.ts'

/** The operand that is being typed, of a command. */
export interface OperandTyping {
  /** The operands before it. */
  readonly operands: readonly string[]
  /** What is typed of it. */
  readonly last: string
  readonly context: CommandContext
}

type Values = (typing: OperandTyping) => Promise<readonly string[]>

/** What operands may be, by the name of the command, and of the command inside of it. */
const OPERANDS: Readonly<Record<string, Values>> = {
  ...{ get: typesAndNames, list: typesAndNames, describe: typesAndNames, delete: typesAndNames },
  ...{ edit: typesAndNames, label: typesAndNames, annotate: typesAndNames },
  scale: (typing) => typesAndNames(typing, 'scale'),
  env: (typing) => firstOperand(typing, 'pods', 'pod/'),
  resolve: (typing) => firstOperand(typing, 'services', ''),
  logs: (typing) => firstOperand(typing, 'pods', ''),
  exec: (typing) => firstOperand(typing, 'pods', ''),
  'create token': (typing) => firstOperand(typing, 'serviceaccounts', ''),
  'port-forward': podAndPorts,
  'auth can-i': verbAndType,
  completion: async () => ['bash', 'zsh', 'fish'],
  'config use-context': ({ context }) => kubeconfigNames('contexts', context),
  'config set-context': ({ context }) => kubeconfigNames('contexts', context),
}

/** What the operand may be; none: anything. `command`: `get`, `create token`. */
export async function operandValues(
  command: string,
  typing: OperandTyping,
): Promise<readonly string[]> {
  return Object.hasOwn(OPERANDS, command) ? OPERANDS[command]!(typing) : []
}

async function firstOperand(
  { operands, context }: OperandTyping,
  type: string,
  prefix: string,
): Promise<readonly string[]> {
  if (operands.length > 0) return []
  return (await objectNames(type, context)).map((name) => prefix + name)
}

/** `TYPE`, `TYPE,TYPE`, `TYPE NAME` and `TYPE/NAME`; with `subresource` the types that have it. */
async function typesAndNames(
  { operands, last, context }: OperandTyping,
  subresource?: string,
): Promise<readonly string[]> {
  const slash = last.indexOf('/')
  if (slash > 0) {
    const type = last.slice(0, slash)
    return (await objectNames(type, context)).map((name) => `${type}/${name}`)
  }
  const [types] = operands
  if (types !== undefined && !types.includes('/')) return objectNames(types, context)
  const known = await typeNames(
    context,
    ({ subresources }) =>
      subresource === undefined || subresources.some(({ name }) => name === subresource),
  )
  const comma = last.lastIndexOf(',') + 1
  return known.map((type) => last.slice(0, comma) + type)
}

async function podAndPorts(typing: OperandTyping): Promise<readonly string[]> {
  const [target] = typing.operands
  if (target !== undefined) return portNumbers(target, typing.context)
  if (typing.last.includes('/')) return typesAndNames(typing)
  return [...(await objectNames('pods', typing.context)), 'service/', 'deployment/']
}

async function verbAndType({ operands, context }: OperandTyping): Promise<readonly string[]> {
  if (operands.length === 0) return VERBS
  return operands.length === 1 ? typeNames(context) : []
}
