import { parseOptions } from './header-parser.ts'
import type { Ipset, SetHeader, SetRefusal } from './ipset.ts'

const LONGEST_NAME = 31

interface FakeSet {
  readonly type: string
  readonly options: ReadonlyMap<string, string>
  readonly members: Map<string, string>
}

/** Sets as the kernel holds them, without the passing of time. */
export class FakeIpset implements Ipset {
  readonly #sets = new Map<string, FakeSet>()
  readonly #refused = new Set<RegExp>()
  /** Whether a rule names the set; such a set cannot be destroyed. */
  isUsed: (name: string) => boolean = () => false

  has(name: string): boolean {
    return this.#sets.has(name)
  }

  async names(prefix: string): Promise<readonly string[]> {
    return [...this.#sets.keys()].filter((name) => name.startsWith(prefix))
  }

  async list(prefix: string): Promise<ReadonlyMap<string, SetHeader>> {
    const headers = new Map<string, SetHeader>()
    for (const [name, { type, options, members }] of this.#sets) {
      if (!name.startsWith(prefix)) continue
      const references = this.isUsed(name) ? 1 : 0
      headers.set(name, { type, options, references, entries: members.size })
    }
    return headers
  }

  async members(name: string): Promise<readonly string[] | undefined> {
    const set = this.#sets.get(name)
    return (
      set && [...set.members].map(([entry, rest]) => (rest === '' ? entry : `${entry} ${rest}`))
    )
  }

  async restore(commands: readonly string[]): Promise<readonly SetRefusal[]> {
    const refusals: SetRefusal[] = []
    for (const [index, command] of commands.entries()) {
      const message = this.#refusal(command) ?? this.#execute(command)
      if (message !== undefined) refusals.push({ index, message })
    }
    return refusals
  }

  /** From now on this kernel takes no command that matches; the result ends that. */
  refuse(pattern: RegExp): () => void {
    this.#refused.add(pattern)
    return () => this.#refused.delete(pattern)
  }

  #refusal(command: string): string | undefined {
    for (const pattern of this.#refused) if (pattern.test(command)) return 'refused by this kernel'
    return undefined
  }

  #execute(command: string): string | undefined {
    const words = command.split(' ').filter((word) => word !== '')
    const exist = words.includes('-exist')
    const [verb, name, ...rest] = words.filter((word) => word !== '-exist')
    if (name === undefined) return `No command specified: unknown argument ${command}`
    if (name.length > LONGEST_NAME)
      return `Syntax error: setname '${name}' is longer than 31 characters`
    const set = this.#sets.get(name)
    if (verb === 'create') return this.#create(name, rest, { set, exist })
    if (set === undefined) return 'The set with the given name does not exist'
    if (verb === 'destroy') return this.#destroy(name)
    if (verb === 'flush') return set.members.clear() ?? undefined
    if (verb === 'add') return add(set, rest, exist)
    if (verb === 'del') return del(set, rest, exist)
    return `No command specified: unknown argument ${verb}`
  }

  #create(
    name: string,
    words: readonly string[],
    { set, exist }: { readonly set: FakeSet | undefined; readonly exist: boolean },
  ): string | undefined {
    const [type, ...rest] = words
    if (type === undefined || !/^(hash|bitmap|list):[a-z,]+$/.test(type)) return 'Unknown set type'
    const options = parseOptions(rest.join(' '))
    if (set === undefined) this.#sets.set(name, { type, options, members: new Map() })
    else if (!exist || set.type !== type || !sameOptions(set.options, options)) {
      return 'Set cannot be created: set with the same name already exists'
    }
    return undefined
  }

  #destroy(name: string): string | undefined {
    if (this.isUsed(name)) return 'Set cannot be destroyed: it is in use by a kernel component'
    this.#sets.delete(name)
    return undefined
  }
}

function sameOptions(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([name, value]) => b.get(name) === value)
}

function add(set: FakeSet, words: readonly string[], exist: boolean): string | undefined {
  const [entry, ...rest] = words
  if (entry === undefined) return 'Missing second mandatory argument to command add'
  if (set.members.has(entry) && !exist)
    return "Element cannot be added to the set: it's already added"
  const timeout = set.options.get('timeout')
  const full = Number(set.options.get('maxelem') ?? 65_536)
  if (!set.members.has(entry) && set.members.size >= full)
    return 'Hash is full, cannot add more elements'
  const given = rest.join(' ')
  set.members.set(entry, given === '' && timeout !== undefined ? `timeout ${timeout}` : given)
  return undefined
}

function del(set: FakeSet, [entry = '']: readonly string[], exist: boolean): string | undefined {
  if (set.members.delete(entry) || exist) return undefined
  return "Element cannot be deleted from the set: it's not added"
}
