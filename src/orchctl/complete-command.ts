import { Command, type Option } from 'commander'
import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../lib/json.ts'
import { type ApiResource, collectionPath, objectPath } from './discovery/api-resource.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { FORMATS } from './output/output-format.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { entryNames, type ListName, merged, readKubeconfigFiles } from './session/kubeconfig.ts'
import { objectsOf } from './session/list-pages.ts'
import { openSession } from './session/open-session.ts'
import { addGlobalFlags, type GlobalFlags } from './usage/global-flags.ts'

/** The verbs of requests. */
const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
] as const

/** Flags whose values are names of objects, with the type. */
const OBJECT_FLAGS: Readonly<Record<string, string>> = {
  '--namespace': 'namespaces',
  '--role': 'roles',
  '--clusterrole': 'clusterroles',
}

/** The candidates for operands, by the name of the command and of its subcommand. */
const OPERANDS: Readonly<Record<string, CandidatesOf>> = {
  get: typesAndNames,
  list: typesAndNames,
  describe: typesAndNames,
  delete: typesAndNames,
  edit: typesAndNames,
  label: typesAndNames,
  annotate: typesAndNames,
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

/** `orchctl __complete -- WORD...`: the candidates for the last word, one per line; the completion scripts call it. */
export function define(command: Command, context: CommandContext): void {
  command.argument('[words...]')
  runs(command, context, complete)
}

const complete: Run<object> = async (words, _flags, context) => {
  const flags = globalsOf(words)
  const { host } = context
  const opened = { session: undefined as ReturnType<typeof openSession> | undefined }
  const inner: CommandContext = {
    ...context,
    globals: () => flags,
    notice: () => undefined,
    session: () => {
      const { env, version } = host
      opened.session ??= openSession({ flags, env, version, notice: () => undefined })
      return opened.session
    },
  }
  try {
    const last = words.at(-1) ?? ''
    const found = await candidatesFor(words.slice(0, -1), last, inner)
    const fitting = [...new Set(found)].filter((one) => one.startsWith(last) && PLAIN.test(one))
    context.print(fitting.map((one) => `${one}\n`).join(''))
  } catch {
    // Without a server there are no candidates, and a message would disturb the line that the user types.
  } finally {
    await opened.session?.then((session) => session.close()).catch(() => undefined)
  }
  return 0
}

const TIMEOUT = '3s'

/**
 * The shell inserts a candidate unquoted into the command line, so it may have no character that a shell interprets.
 */
const PLAIN = /^[\w.:/@%+,=-]+$/

/** The global flags that the user has already typed. */
function globalsOf(words: readonly string[]): GlobalFlags {
  const parser = new Command().allowUnknownOption().allowExcessArguments().exitOverride()
  parser.configureOutput({ writeErr: () => undefined })
  addGlobalFlags(parser)
  try {
    parser.parse(words.slice(0, -1), { from: 'user' })
  } catch {
    // The last of them is a flag whose value is being typed; those before it are read.
  }
  return { ...parser.opts<GlobalFlags>(), requestTimeout: TIMEOUT }
}

/** The candidates for the word after `before`; `last` is its typed beginning. None: anything may follow. */
async function candidatesFor(
  before: readonly string[],
  last: string,
  context: CommandContext,
): Promise<readonly string[]> {
  const words = await readCommandWords(before, context)
  if (words.flag !== undefined) return flagValueCandidates(words.flag, context)
  if (last.startsWith('-')) return flagCandidates(words, last, context)
  const { path, command, operands } = words
  if (path === '') {
    return context.commands.filter((one) => one.isHidden !== true).map((one) => one.name)
  }
  if (command === undefined) return []
  if (command.commands.length > 0) return command.commands.map((one) => one.name())
  return operandCandidates(path, { operands, last, context })
}

/** Candidates for a flag; after `=`, for its value. */
async function flagCandidates(
  { command }: CommandWords,
  last: string,
  context: CommandContext,
): Promise<readonly string[]> {
  const flags = flagsOf(command)
  const [name = '', value] = last.split('=', 2)
  if (value === undefined) return flags.flatMap(({ long }) => (long ? [long] : []))
  const flag = flags.find(({ long }) => long === name)
  if (flag === undefined || !flag.required) return []
  return (await flagValueCandidates(flag, context)).map((one) => `${name}=${one}`)
}

/** The words of a command line up to the one that is being typed. */
interface CommandWords {
  /** The names of the command and its subcommand; empty: the word that is being typed is the name of a command. */
  readonly path: string
  /** The subcommand, or the command if none is named; undefined: none was typed, or none has that name. */
  readonly command: Command | undefined
  /** Words that are neither a flag nor its value nor the name of a command. */
  readonly operands: readonly string[]
  /** The flag whose value is being typed. */
  readonly flag: Option | undefined
}

/** Reads the words. A flag that takes a value takes the next word, unless the value follows a `=`. */
async function readCommandWords(
  before: readonly string[],
  context: CommandContext,
): Promise<CommandWords> {
  const globals = globalOptions()
  const reading = { path: '', command: undefined as Command | undefined, operands: [] as string[] }
  let flag: Option | undefined
  for (const word of before) {
    if (flag !== undefined) {
      flag = undefined
    } else if (word.startsWith('-') && word !== '-') {
      flag = valueFlag(word, [...(reading.command?.options ?? []), ...globals])
    } else if (reading.path === '') {
      reading.command = await loaded(word, context)
      reading.path = reading.command?.name() ?? word
    } else {
      const inner = innerCommand(reading.command, word)
      if (inner === undefined || reading.operands.length > 0) {
        reading.operands.push(word)
        continue
      }
      reading.command = inner
      reading.path += ` ${inner.name()}`
    }
  }
  return { ...reading, flag }
}

/** The flag of a word that has no value yet: `--output` or `-o`, but not `--output=json`, `-ojson` or a switch. */
function valueFlag(word: string, options: readonly Option[]): Option | undefined {
  return options.find(({ long, short, required }) => required && (word === long || word === short))
}

/** The global flags and those of the command. */
function flagsOf(command: Command | undefined): readonly Option[] {
  return [...(command?.options ?? []), ...globalOptions()]
}

function globalOptions(): readonly Option[] {
  const command = new Command()
  addGlobalFlags(command)
  return command.options
}

async function loaded(name: string, context: CommandContext): Promise<Command | undefined> {
  const entry = context.commands.find((one) => [one.name, ...(one.aliases ?? [])].includes(name))
  if (entry === undefined) return undefined
  const command = new Command(entry.name)
  await entry.define(command)
  return command
}

function innerCommand(command: Command | undefined, word: string): Command | undefined {
  return command?.commands.find((one) => [one.name(), ...one.aliases()].includes(word))
}

/** An operand that is being typed. */
interface OperandTyping {
  /** The operands before it. */
  readonly operands: readonly string[]
  /** What the user has typed of it. */
  readonly last: string
  readonly context: CommandContext
}

type CandidatesOf = (typing: OperandTyping) => Promise<readonly string[]>

/** The candidates for the operand; none: anything is possible. `command`: `get`, `create token`. */
async function operandCandidates(
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

/** The candidates for the value of a flag; none: anything is possible, such as a file. */
async function flagValueCandidates(
  flag: Option,
  context: CommandContext,
): Promise<readonly string[]> {
  if (flag.argChoices !== undefined) return flag.argChoices
  const name = flag.long ?? ''
  const type = OBJECT_FLAGS[name]
  if (type !== undefined) return objectNames(type, context)
  switch (name) {
    case '--output':
      return formatsOf(flag)
    case '--context':
      return kubeconfigNames('contexts', context)
    case '--cluster':
      return kubeconfigNames('clusters', context)
    case '--from':
      return (await objectNames('pods', context)).map((pod) => `pod/${pod}`)
    case '--serviceaccount': {
      const { namespace } = await context.session()
      const accounts = await objectNames('serviceaccounts', context)
      return accounts.map((account) => `${namespace}:${account}`)
    }
    case '--verb':
      return VERBS
    case '--resource':
      return typeNames(context)
    default:
      return []
  }
}

/** The formats that the help of the flag names; all formats if it names none. */
function formatsOf({ description }: Option): readonly string[] {
  const all = FORMATS.split('|').map((format) => format.replace(/=.*/, '='))
  const named = all.filter((format) => description.includes(format))
  return named.length === 0 ? all : named
}

/** The names of the entries of a list of the kubeconfig. */
async function kubeconfigNames(
  list: ListName,
  context: CommandContext,
): Promise<readonly string[]> {
  const where = { flag: context.globals().kubeconfig, env: context.host.env }
  return entryNames(merged(await readKubeconfigFiles(where)), list)
}

/** The most names that are proposed. */
const MAX_NAMES = 500

/** The plural names of the resources that can be listed and that `isIncluded` accepts. */
async function typeNames(
  context: CommandContext,
  isIncluded: (resource: ApiResource) => boolean = () => true,
): Promise<readonly string[]> {
  const all = await (await openCatalogue(context)).all()
  const listable = all.filter((one) => one.verbs.includes('list') && isIncluded(one))
  return [...new Set(listable.map(({ plural }) => plural))]
}

/** The names of the objects of a type, in the namespace of the session. */
async function objectNames(type: string, context: CommandContext): Promise<readonly string[]> {
  const resource = await (await openCatalogue(context)).named(type)
  const { api, namespace } = await context.session()
  const call = { path: collectionPath(resource, namespace), query: { limit: String(MAX_NAMES) } }
  const answer = await api.request(call)
  if (!answer.ok) return []
  return objectsOf(answer.value.body).map((object) => stringAt(object, 'metadata', 'name'))
}

/**
 * The ports of the object `TYPE/NAME`; `NAME` alone is a Pod. Of a Service its ports, of any other object those of the
 * containers in its spec or Pod template.
 */
async function portNumbers(operand: string, context: CommandContext): Promise<readonly string[]> {
  const [first = '', second] = operand.split('/')
  const [type, name] = second === undefined ? ['pods', first] : [first, second]
  const resource = await (await openCatalogue(context)).named(type)
  const { api, namespace } = await context.session()
  const answer = await api.request({ path: objectPath(resource, namespace, name) })
  return answer.ok ? portsOf(answer.value.body) : []
}

function portsOf(object: JsonObject): readonly string[] {
  const template = valueAt(object, 'spec', 'template') ?? object
  const containers = arrayAt(template, 'spec', 'containers')
  return [
    ...arrayAt(object, 'spec', 'ports').map((port) => scalarText(valueAt(port, 'port'))),
    ...containers.flatMap((one) =>
      arrayAt(one, 'ports').map((port) => scalarText(valueAt(port, 'containerPort'))),
    ),
  ]
}
