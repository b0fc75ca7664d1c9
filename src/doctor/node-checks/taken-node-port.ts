import { hostPort } from '../../lib/ip.ts'
import { checkOfEachNode } from '../evidence/node-check.ts'

/** Another process listens at a node port: its packets go to the Service instead. */
export const takenNodePort = checkOfEachNode('taken-node-port', ({ takenPorts, settings }) => {
  const range = settings['net.ipv4.ip_local_port_range'] ?? ''
  const [first = 0, last = 0] = range.split(/\s+/).map(Number)
  return takenPorts.map(({ protocol, address, port, process, pid, entry }) => {
    const isEphemeral = port >= first && port <= last
    return {
      symptom: 'External access fails',
      cause: `${process} (pid ${pid}) listens at ${protocol} port ${port}, which is a node port of ${entry}`,
      evidence: [
        `socket ${hostPort(address, port)}/${protocol}`,
        ...(isEphemeral
          ? [
              `net.ipv4.ip_local_port_range = ${first} ${last}: the kernel gives such ports to processes`,
            ]
          : []),
      ],
      remedy: isEphemeral
        ? 'reserve the range of node ports, then start the process again'
        : 'give one of the two another port',
      commands: [
        `ss -lntup sport = :${port}`,
        ...(isEphemeral ? ['sysctl -w net.ipv4.ip_local_reserved_ports=30000-32767'] : []),
      ],
      services: [entry.split(':')[0] ?? ''],
    }
  })
})
