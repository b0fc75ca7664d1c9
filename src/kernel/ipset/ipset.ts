export interface SetHeader {
  /** `hash:ip`, `hash:ip,port`, … */
  readonly type: string
  /** Options of `create` as the kernel holds them: `family`, `timeout`, `hashsize`, … */
  readonly options: ReadonlyMap<string, string>
  readonly references: number
  readonly entries: number
}

/** One command that was refused; `index` counts the given commands from 0. */
export interface SetRefusal {
  readonly index: number
  readonly message: string
}

/** IP sets of the kernel. Reading throws NP_KERNEL_IPSET; a refused command is a value. */
export interface Ipset {
  /** Names of the sets that start with `prefix`. */
  names(prefix: string): Promise<readonly string[]>
  /** Headers, without members, of the sets that start with `prefix`. */
  list(prefix: string): Promise<ReadonlyMap<string, SetHeader>>
  /** Entries of a set, time-outs included (`10.0.0.1 timeout 299`); undefined when there is none. */
  members(name: string): Promise<readonly string[] | undefined>
  /**
   * Runs `create`, `destroy`, `add`, `del` and `flush` lines. Refused lines come
   * back, all the others take effect.
   */
  restore(commands: readonly string[]): Promise<readonly SetRefusal[]>
}
