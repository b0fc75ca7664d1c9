import type { Ipvs } from './ipvs.ts'

/** The same virtual servers; commands are accepted, and change nothing. */
export function readOnlyIpvs(ipvs: Ipvs): Ipvs {
  return {
    info: () => ipvs.info(),
    run: async () => [],
    services: () => ipvs.services(),
    service: (id) => ipvs.service(id),
    servers: (id) => ipvs.servers(id),
    serversOf: (ids) => ipvs.serversOf(ids),
    timeouts: () => ipvs.timeouts(),
    setTimeouts: async () => {},
    zero: async () => false,
    flush: async () => {},
    close: () => ipvs.close(),
  }
}

/** Stands for a kernel without ip_vs. No request is sent, because it would load the module. */
export const noIpvs: Ipvs = {
  info: async () => ({ version: '', connectionTableSize: 0 }),
  run: async () => [],
  services: async () => [],
  service: async () => undefined,
  servers: async () => undefined,
  serversOf: async () => new Map(),
  timeouts: async () => ({ tcp: 0, tcpFin: 0, udp: 0 }),
  setTimeouts: async () => {},
  zero: async () => false,
  flush: async () => {},
  close: () => {},
}
