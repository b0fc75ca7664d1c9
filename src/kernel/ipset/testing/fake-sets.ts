import { constants } from 'node:os'
import { commandErrorText, nameProblem } from '../ipset-error.ts'
import type { Member, SetCommand, SetCommandError, SetHeader, Sets } from '../sets.ts'
import { FakeSet } from './fake-set.ts'

const { EINVAL, ENOENT, ENOMEM } = constants.errno
const BUSY = 4100

/** Sets as the kernel holds them; time does not pass. */
export class FakeSets implements Sets {
  readonly #sets = new Map<string, FakeSet>()
  readonly #refused = new Map<(command: SetCommand) => boolean, number>()
  /** Whether a rule names the set; such a set cannot be destroyed. */
  isUsed: (name: string) => boolean = () => false

  has(name: string): boolean {
    return this.#sets.has(name)
  }

  async run(commands: readonly SetCommand[]): Promise<readonly SetCommandError[]> {
    const refusals: SetCommandError[] = []
    for (const [index, command] of commands.entries()) {
      const problem = nameProblem(command.name)
      const errno = problem === undefined ? this.#execute(command) : EINVAL
      if (errno === 0) continue
      refusals.push({ index, errno, message: problem ?? commandErrorText(errno, command) })
    }
    return refusals
  }

  async names(prefix: string): Promise<readonly string[]> {
    return [...this.#sets.keys()].filter((name) => name.startsWith(prefix))
  }

  async headers(prefix: string): Promise<ReadonlyMap<string, SetHeader>> {
    const headers = new Map<string, SetHeader>()
    for (const [name, set] of this.#sets) {
      if (name.startsWith(prefix)) headers.set(name, set.header(this.isUsed(name) ? 1 : 0))
    }
    return headers
  }

  async members(name: string): Promise<readonly Member[] | undefined> {
    const set = this.#sets.get(name)
    return set && [...set.members.values()]
  }

  async protocolVersion() {
    return { newest: 7, oldest: 6 }
  }

  close(): void {}

  /** From now on the commands that match are refused; returns a function that ends this. */
  refuse(matches: (command: SetCommand) => boolean, errno: number = ENOMEM): () => void {
    this.#refused.set(matches, errno)
    return () => this.#refused.delete(matches)
  }

  #execute(command: SetCommand): number {
    for (const [matches, errno] of this.#refused) if (matches(command)) return errno
    const set = this.#sets.get(command.name)
    switch (command.do) {
      case 'create':
        if (set !== undefined) return set.compare(command.type)
        this.#sets.set(command.name, new FakeSet(command.type))
        return 0
      case 'destroy':
        if (this.isUsed(command.name)) return BUSY
        this.#sets.delete(command.name)
        return 0
      case 'flush':
        set?.members.clear()
        return set === undefined ? ENOENT : 0
      case 'add':
        return set?.add(command.member) ?? ENOENT
      case 'delete':
        return set?.delete(command.member) ?? ENOENT
    }
  }
}
