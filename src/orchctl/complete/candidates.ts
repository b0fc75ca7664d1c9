import { Command } from 'commander'
import { stringAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import { collectionPath } from '../discovery/api-resource.ts'
import { type Catalogue, openCatalogue } from '../discovery/catalogue.ts'
import { readKubeconfigFiles } from '../kubeconfig/kubeconfig-files.ts'
import { entryNames, merged } from '../kubeconfig/merged.ts'
import { FORMATS } from '../output/output-format.ts'
import { objectsOf } from '../reading/list-pages.ts'
import { addGlobalFlags, takesNextArgument } from '../usage/global-flags.ts'

/** How a command uses its operands. */
const TYPES_AND_NAMES: ReadonlySet<string> = new Set([
  ...['get', 'list', 'describe', 'delete', 'edit', 'label', 'annotate', 'scale'],
])
const MAX_NAMES = 500

/** What the word behind `before` may be; not only those that fit what is typed of it. */
export async function candidatesFor(
  before: readonly string[],
  last: string,
  context: CommandContext,
): Promise<readonly string[]> {
  const ofFlag = await flagValues(before.at(-1) ?? '', context)
  if (ofFlag !== undefined) return ofFlag
  const operands = operandsOf(before)
  const [name] = operands
  if (name === undefined) {
    if (last.startsWith('-')) return longFlags(new Command())
    return context.commands.filter((one) => one.isHidden !== true).map((one) => one.name)
  }
  const command = await loaded(name, context)
  if (command === undefined) return []
  const inner = innermost(command, operands.slice(1))
  if (last.startsWith('-')) return longFlags(inner)
  if (inner.commands.length > 0) return inner.commands.map((one) => one.name())
  return operandCandidates({ name, inner, operands: operands.slice(1), last }, context)
}

/** The words that are neither flags nor, for flags that are known, their values. */
function operandsOf(before: readonly string[]): readonly string[] {
  const operands: string[] = []
  for (let index = 0; index < before.length; index++) {
    const word = before[index] ?? ''
    if (takesNextArgument(word) || /^-[olfL]$/.test(word)) index++
    else if (!word.startsWith('-')) operands.push(word)
  }
  return operands
}

async function flagValues(
  flag: string,
  context: CommandContext,
): Promise<readonly string[] | undefined> {
  switch (flag) {
    case '-n':
    case '--namespace':
      return namesOf('namespaces', await openCatalogue(context), context)
    case '-o':
    case '--output':
      return FORMATS.split('|').map((format) => format.replace(/=.*/, '='))
    case '--context': {
      const where = { flag: context.globals().kubeconfig, env: context.host.env }
      return entryNames(merged(await readKubeconfigFiles(where)), 'contexts')
    }
    default:
      return undefined
  }
}

/** The command with its flags and commands. */
async function loaded(name: string, context: CommandContext): Promise<Command | undefined> {
  const entry = context.commands.find((one) => [one.name, ...(one.aliases ?? [])].includes(name))
  if (entry === undefined) return undefined
  const command = new Command(entry.name)
  await entry.define(command)
  return command
}

function innermost(command: Command, operands: readonly string[]): Command {
  const [first, ...rest] = operands
  const found = command.commands.find((one) => [one.name(), ...one.aliases()].includes(first ?? ''))
  return found === undefined ? command : innermost(found, rest)
}

function longFlags(command: Command): readonly string[] {
  const all = new Command()
  addGlobalFlags(all)
  return [...command.options, ...all.options].flatMap(({ long }) => (long ? [long] : []))
}

interface Typing {
  readonly name: string
  readonly inner: Command
  /** Behind the name of the command. */
  readonly operands: readonly string[]
  readonly last: string
}

async function operandCandidates(
  { name, inner, operands, last }: Typing,
  context: CommandContext,
): Promise<readonly string[]> {
  if (name === 'completion') return ['bash', 'zsh', 'fish']
  if (name === 'config') return (await flagValues('--context', context)) ?? []
  const catalogue = await openCatalogue(context)
  if (inner.name() === 'token') return namesOf('serviceaccounts', catalogue, context)
  if (inner.name() === 'can-i' && operands.length === 2) return typesOf(catalogue)
  if (name === 'env') return prefixed('pod', await namesOf('pods', catalogue, context))
  if (!TYPES_AND_NAMES.has(name)) return []
  const slash = last.indexOf('/')
  if (slash > 0) {
    const type = last.slice(0, slash)
    return prefixed(type, await namesOf(type, catalogue, context))
  }
  const [types] = operands
  if (types !== undefined && !types.includes('/')) return namesOf(types, catalogue, context)
  const comma = last.lastIndexOf(',') + 1
  return (await typesOf(catalogue)).map((type) => last.slice(0, comma) + type)
}

function prefixed(type: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${type}/${name}`)
}

async function typesOf(catalogue: Catalogue): Promise<readonly string[]> {
  const listable = (await catalogue.all()).filter(({ verbs }) => verbs.includes('list'))
  return [...new Set(listable.map(({ plural }) => plural))]
}

async function namesOf(
  type: string,
  catalogue: Catalogue,
  context: CommandContext,
): Promise<readonly string[]> {
  const resource = await catalogue.named(type)
  const { api, namespace } = await context.session()
  const call = { path: collectionPath(resource, namespace), query: { limit: String(MAX_NAMES) } }
  const answer = await api.request(call)
  if (!answer.ok) return []
  return objectsOf(answer.value.body).map((object) => stringAt(object, 'metadata', 'name'))
}
