import type { JsonObject } from '../../lib/json.ts'
import { READY_PATH } from '../agent/pod-serve.ts'

/** The port on which the pods' servers listen. */
const POD_PORT = 8080

/** The label that makes a pod an endpoint of web-public; scaling sets and removes it. */
export const PUBLIC = 'public'

const PROGRAM = new URL('../agent/pod-main.ts', import.meta.url).pathname

/** A Pod whose process is not restarted when it has ended, so that one can see the traffic move. */
export function podManifest(name: string): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'web', [PUBLIC]: 'yes' } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: 'web',
          image: 'none',
          command: [process.execPath, PROGRAM],
          env: [
            { name: 'PORT', value: String(POD_PORT) },
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          ],
          ports: [{ name: 'http', containerPort: POD_PORT }],
          readinessProbe: {
            httpGet: { path: READY_PATH, port: 'http' },
            periodSeconds: 1,
            failureThreshold: 1,
          },
        },
      ],
    },
  }
}
