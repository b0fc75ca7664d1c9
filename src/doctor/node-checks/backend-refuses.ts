import { checkOfEachNode } from '../evidence/node-check.ts'

/** A backend on this node refuses connections at its port: nothing listens there. */
export const backendRefuses = checkOfEachNode('backend-refuses', ({ connects }) => {
  const refusing = connects.filter(({ answer }) => answer === 'refuses')
  return [...Map.groupBy(refusing, ({ service }) => service)].map(([service, backends]) => {
    const ports = [...new Set(backends.map(({ port }) => port))]
    const all = connects.filter((one) => one.service === service).length
    const [namespace = '', name = ''] = service.split('/')
    return {
      symptom: 'Service not reachable',
      cause: `${backends.length} of ${all} backends of service/${service} on this node refuse connections at port ${ports.join(', ')}: nothing listens there`,
      evidence: backends
        .slice(0, 5)
        .map(({ ip, port }) => `${ip} port ${port}: connection refused`),
      remedy:
        'correct targetPort, or the port and address at which the program in the Pod listens (0.0.0.0, not 127.0.0.1)',
      commands: [`kubectl -n ${namespace} get service ${name} -o yaml`],
      services: [service],
    }
  })
})
