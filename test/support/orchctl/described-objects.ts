/** The objects that `describe` is tested with: each field that kubectl prints has a value somewhere. */
export const OBJECTS = `apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {app: web, tier: front}, annotations: {note: "two words", other: x}}
spec:
  type: LoadBalancer
  selector: {app: web, tier: front}
  sessionAffinity: ClientIP
  externalIPs: [192.0.2.9]
  externalTrafficPolicy: Local
  loadBalancerSourceRanges: [10.0.0.0/8]
  ports:
  - {name: http, port: 80, targetPort: 8080, protocol: TCP}
  - {name: dns, port: 53, targetPort: dns, protocol: UDP}
---
apiVersion: v1
kind: Service
metadata: {name: bare, namespace: shop}
spec: {clusterIP: None, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: far, namespace: shop}
spec: {type: ExternalName, externalName: example.com}
---
apiVersion: v1
kind: Endpoints
metadata: {name: bare, namespace: shop}
subsets:
- addresses: [{ip: 10.1.0.1},{ip: 10.1.0.2},{ip: 10.1.0.3},{ip: 10.1.0.4},{ip: 10.1.0.5}]
  notReadyAddresses: [{ip: 10.1.0.9}]
  ports: [{port: 80}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-x1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints:
- {addresses: [10.0.0.1], conditions: {ready: true}, nodeName: n1, zone: z, targetRef: {kind: Pod, name: web-1, namespace: shop}}
- {addresses: [10.0.0.2], conditions: {ready: false}}
ports: [{name: http, port: 8080, protocol: TCP}]
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {a: b}}
spec: {podCIDR: 10.244.1.0/24, podCIDRs: [10.244.1.0/24], taints: [{key: k, value: v, effect: NoSchedule}], unschedulable: true}
status:
  addresses: [{type: InternalIP, address: 127.0.0.7},{type: Hostname, address: n1}]
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  allocatable: {cpu: 3500m, memory: 7Gi, pods: "110"}
  conditions: [{type: Ready, status: "True", reason: KubeletReady, message: fine, lastHeartbeatTime: "2026-01-01T00:00:00Z", lastTransitionTime: "2026-01-01T00:00:00Z"}]
  nodeInfo: {kernelVersion: "6", osImage: Debian, containerRuntimeVersion: "c://1", kubeletVersion: v1.36.0, kubeProxyVersion: "", operatingSystem: linux, architecture: amd64, machineID: m, systemUUID: s, bootID: b}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, namespace: shop}
imagePullSecrets: [{name: pull}]
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: shop}
data: {a: aGVsbG8=, b: ""}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: shop}
data: {k: v, file: "line1\\nline2\\n"}
binaryData: {bin: AAEC}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web, tier: front}}
spec:
  nodeName: n1
  serviceAccountName: robot
  priorityClassName: ""
  nodeSelector: {disk: ssd}
  tolerations: [{key: k, operator: Equal, value: v, effect: NoSchedule},{key: x, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]
  initContainers:
  - {name: init, image: i:1, command: [sh, -c, "true"]}
  containers:
  - name: web
    image: web:1
    command: [/bin/web]
    args: [--port, "8080"]
    ports: [{name: http, containerPort: 8080, protocol: TCP},{name: dns, containerPort: 53, protocol: UDP}]
    env:
    - {name: A, value: b}
    - {name: FROM, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: SEC, valueFrom: {secretKeyRef: {name: s, key: a}}}
    - {name: CM, valueFrom: {configMapKeyRef: {name: c, key: k, optional: true}}}
    envFrom: [{configMapRef: {name: c}}]
    resources: {limits: {cpu: 500m, memory: 64Mi}, requests: {cpu: 100m}}
    readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 5}
    livenessProbe: {tcpSocket: {port: 8080}}
    startupProbe: {exec: {command: [cat, /x]}}
    volumeMounts: [{name: cfg, mountPath: /cfg, readOnly: true},{name: tmp, mountPath: /tmp},{name: sec, mountPath: /sec, subPath: a}]
  volumes:
  - {name: cfg, configMap: {name: c}}
  - {name: tmp, emptyDir: {}}
  - {name: sec, secret: {secretName: s}}
  - {name: host, hostPath: {path: /var, type: Directory}}
  - {name: proj, projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}},{configMap: {name: c}}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: shop}
rules:
- {apiGroups: [""], resources: [pods, services], verbs: [get, list]}
- {apiGroups: [""], resources: [secrets], resourceNames: [s], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cr}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: ["*"]}
- {nonResourceURLs: [/metrics], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rb, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{kind: ServiceAccount, name: robot, namespace: shop},{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: crb}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cr}
subjects: [{kind: Group, name: dev, apiGroup: rbac.authorization.k8s.io}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: np, namespace: shop}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{podSelector: {matchLabels: {role: f}}},{namespaceSelector: {matchLabels: {team: a}}},{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
    ports: [{port: 80, protocol: TCP}]
  egress: [{}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: shop, labels: {app: d}}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: c, image: x:1, ports: [{containerPort: 80}]}]}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: l, namespace: shop}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
---
apiVersion: v1
kind: Event
metadata: {name: e1, namespace: shop}
type: Warning
reason: Boo
message: something happened
count: 3
firstTimestamp: "2026-11-26T00:00:00Z"
lastTimestamp: "2026-11-27T00:00:00Z"
source: {component: tester, host: n1}
involvedObject: {kind: Service, name: web, namespace: shop, apiVersion: v1}
`

/** Each of them, as the command line names it. */
export const DESCRIBED = [
  'svc/web',
  'svc/bare',
  'svc/far',
  'endpoints/bare',
  'endpointslice/web-x1',
  'node/n1',
  'sa/robot',
  'secret/s',
  'cm/c',
  'pod/web-1',
  'role/r',
  'clusterrole/cr',
  'rolebinding/rb',
  'clusterrolebinding/crb',
  'networkpolicy/np',
  'deploy/d',
  'lease/l',
  'events/e1',
  'ns/shop',
] as const
