import type { Duplex } from 'node:stream'

/** A folder of this machine that is seen inside at a path of its own. */
export interface Share {
  readonly host: string
  /** Absolute; made when it does not exist. Below /proc, /sys and /dev nothing can be shared. */
  readonly inside: string
  /** What is written inside lands on this machine. Read-only otherwise. */
  readonly writable?: boolean
}

/** A command and the kernel that it wants to run in. */
export interface KernelRun {
  /** Found on the PATH inside, or a path. */
  readonly command: string
  readonly args?: readonly string[]
  /** The whole environment; PATH and HOME have values when it names none. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** `/` by default. */
  readonly cwd?: string
  /** Memory of the kernel in MiB, 1024 by default; taken as it is used. */
  readonly memory?: number
  /** Kernels that differ by one here have a processor each; anything by default. */
  readonly turn?: number
  readonly share?: readonly Share[]
  /** Modules that this kernel shall not have: `ip_vs`. What needs them is gone too. */
  readonly withoutModules?: readonly string[]
  /** Hears the console: what the command prints, and the kernel's own complaints. */
  readonly onOutput?: (text: string) => void
  /** The command gets this process's terminal; `onOutput` hears nothing then. */
  readonly terminal?: boolean
  /** Others may come in and use a shell: `npm run --silent uml -- --enter`. */
  readonly shell?: boolean
  /** Milliseconds until the kernel is killed, however lively it is. */
  readonly timeoutMs?: number
  /** Milliseconds without a byte on console or channel until it is killed. */
  readonly silenceMs?: number
}

/** How a command ended. */
export interface KernelOutcome {
  /** Its exit status, 128 + signal if one ended it. */
  readonly status: number
  /** The end of what the console showed, at most 64 KiB. */
  readonly console: string
}

/** A kernel that was started. */
export interface Kernel {
  /** The other end of `$UML_CHANNEL`, a device of eight-bit clean bytes both ways. */
  readonly channel: Duplex
  /**
   * Settles when the kernel is gone with everything that it left on this machine. Rejects with
   * NP_UML_SILENT, NP_UML_TIMEOUT, NP_UML_PANIC or NP_UML_ENDED.
   */
  readonly ended: Promise<KernelOutcome>
  /** Ends it at once; `ended` rejects with NP_UML_ENDED unless the command was done. */
  kill(): void
}
