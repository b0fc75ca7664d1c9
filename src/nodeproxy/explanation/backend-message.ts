import type { Backend } from '../../forwarding/entry.ts'

/** One backend in the words of the inspection service, without its state. */
export function backendMessage({ ip, port, weight, local }: Backend) {
  return { ip, port, weight, isLocal: local }
}
