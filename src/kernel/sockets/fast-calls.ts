import { setFlagsFromString } from 'node:v8'

/**
 * Ends V8's fast calls of functions of node:ffi, in the whole process. For a thread that uses node:ffi and may end before
 * its process does, before it begins its work: V8 compiles in threads of its own, which would read what describes a
 * function after Node has freed it with the thread that opened it. That takes the process along (SIGTRAP or SIGSEGV; Node
 * 26.10: a few of a hundred threads that end while they are busy). A call takes 0.3 µs longer then.
 *
 * Modules that are loaded later are compiled anew where a cache was made before: so load them first.
 */
export function endFastCalls(): void {
  setFlagsFromString('--no-turbo-fast-api-calls')
}
