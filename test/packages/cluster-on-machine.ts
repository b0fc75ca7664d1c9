import type { Machine } from '../support/machine/machine.ts'
import { addressed, untilDone } from '../support/machine/page-script.ts'

/** The Service `web` with an address of its own, which leads to one of the two backends. */
const SERVICE = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { clusterIP: 10.96.0.10, ports: [{ port: 80 }] }
`
const BACKENDS = { one: '10.244.0.2', two: '10.244.0.3' } as const

/** Where the Service answers. */
export const URL_OF_WEB = 'http://10.96.0.10/'

/** As administrator of orch-server. */
export const ADMIN = 'export KUBECONFIG=/var/lib/orch-server/admin.kubeconfig\n'

/** Commands that wait until orch-server serves: that of the older commit is no `Type=notify`. */
export const UNTIL_SERVED = untilDone('curl -sfk https://127.0.0.1:6443/readyz')

/** The same, and until node-proxy follows the cluster; if it ends before, the timeout of the script ends the wait. */
export const UNTIL_READY = `${UNTIL_SERVED}${untilDone('curl -sf 127.0.0.1:10256/readyz')}`

/** Gives a machine a network, and two backends in a network namespace as that of Pods. */
export async function addNetwork(machine: Machine): Promise<void> {
  const backends = Object.entries(BACKENDS).map(
    ([name, address]) => `ip -n pods addr add ${address}/24 dev pods0
      systemd-run --quiet --unit=backend-${name} ip netns exec pods \\
        /run/packages/node /run/packages/backend.script.ts ${address} 8080 ${name}`,
  )
  await machine.sh(`${addressed('192.0.2.7')}; ip route add default via 192.0.2.1
    ip netns add pods
    ip link add pods1 type veth peer name pods0 netns pods
    ip addr add 10.244.0.1/24 dev pods1; ip link set pods1 up
    ip -n pods link set pods0 up; ip -n pods link set lo up
    ip -n pods route add default via 10.244.0.1 dev pods0 onlink
    ${backends.join('\n')}
    ${untilDone('curl -s http://10.244.0.2:8080 http://10.244.0.3:8080')}`)
}

/** Lets the Service lead to one backend. */
export async function leadTo(machine: Machine, name: keyof typeof BACKENDS): Promise<void> {
  const slice = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [${BACKENDS[name]}], conditions: { ready: true } }]
ports: [{ port: 8080 }]
`
  await machine.sh(`${ADMIN} orchctl apply -f -`, `${SERVICE}---\n${slice}`)
}

/** Resolves when the Service is answered by this backend. */
export async function answeredBy(machine: Machine, name: keyof typeof BACKENDS): Promise<void> {
  await machine.sh(untilDone(`[ "$(curl -s -m 5 ${URL_OF_WEB})" = ${name} ]`))
}
