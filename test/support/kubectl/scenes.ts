/** A shell command that must end with 0, the output it must have, and the first kubectl 1.x that supports it. */
export type Line = readonly [command: string, said: RegExp, since?: number]

/** Lines in their order, in a namespace of their own. */
export interface Scene {
  readonly name: string
  readonly lines: readonly Line[]
}

const WEB = `
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
`

const POD = `
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: web}}
spec: {containers: [{name: c, image: none}]}
`

const ENDPOINTS = `
apiVersion: v1
kind: Endpoints
metadata: {name: hand}
subsets: [{addresses: [{ip: 10.1.0.1}], ports: [{name: http, port: 8080}]}]
`

/** A DaemonSet without nodes and a StatefulSet of no Pods: a rollout is complete at once. */
const SETS = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d}
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {nodeSelector: {is: nowhere}, containers: [{name: c, image: 'none:1'}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  replicas: 0
  serviceName: s
  selector: {matchLabels: {app: s}}
  template:
    metadata: {labels: {app: s}}
    spec: {containers: [{name: c, image: 'none:1'}]}
`

/** A Job of two Pods, the first failure of which is one too many. */
const JOB = `
apiVersion: batch/v1
kind: Job
metadata: {name: strict}
spec:
  parallelism: 2
  completions: 2
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}
`

export const FILES = {
  'sets.yaml': SETS,
  'job.yaml': JOB,
  'bad-job.yaml': JOB.replace('backoffLimit:', 'backoffLimitPerIndex:'),
  'web.yaml': WEB,
  'web-81.yaml': WEB.replace('port: 80,', 'port: 81,'),
  'web-8081.yaml': WEB.replace('8080', '8081'),
  'bad-field.yaml': WEB.replace('selector:', 'selektor:'),
  'bad-value.yaml': WEB.replace('port: 80,', 'port: 70000,'),
  'pod.yaml': POD,
  'endpoints.yaml': ENDPOINTS,
}

/** Writes the status of a ready Pod, as a node agent would, whatever the scheduler writes meanwhile. */
const MAKE_READY = `kubectl get pod p -o json |
  sed '/"resourceVersion"/d; s/"phase": "Pending"/"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]/' |
  kubectl replace --raw "/api/v1/namespaces/$NS/pods/p/status" -f - >/dev/null`

/** Makes kubectl 1.30 and newer list by a watch. */
const WATCH_LIST = 'KUBE_FEATURE_WatchListClient=true'

const READING: readonly Line[] = [
  ['kubectl create -f web.yaml -f pod.yaml', /service\/web created\npod\/p created/],
  ['kubectl create -f endpoints.yaml', /endpoints\/hand created/],
  ['kubectl get svc', /^NAME +TYPE +CLUSTER-IP.*AGE\nweb +ClusterIP +10\..* <none> +80\/TCP /],
  ['kubectl get svc web -o wide', /SELECTOR\nweb .* app=web\n$/],
  ['kubectl get svc web -o yaml', /^apiVersion: v1\nkind: Service\n[^]*targetPort: 8080\n/],
  ['kubectl get svc web -o json', /"sessionAffinity": "None"/],
  ["kubectl get svc web -o jsonpath='{.spec.ports[0].port}'", /^80$/],
  ["kubectl get svc web -o go-template='{{.spec.type}}'", /^ClusterIP$/],
  ['kubectl get svc -o custom-columns=IS:.metadata.name', /^IS\nweb\n$/],
  ['kubectl get svc/web pod/p -o name', /^service\/web\npod\/p\n$/],
  ['kubectl get pods -o wide', /NODE .*GATES\np +0\/1 +Pending +0 /],
  ['kubectl get all --show-labels', /pod\/p .*app=web\n[^]*service\/web .*app=web/],
  ["kubectl get svc,pod -l 'app in (web)' --chunk-size=1", /service\/web [^]*pod\/p /],
  ['kubectl get endpoints -A --no-headers', /^reads\S+ +hand +10\.1\.0\.1:8080 /m],
  ['kubectl get pods --field-selector=status.phase=Pending,metadata.name=p --no-headers', /^p /],
  ['kubectl get svc --sort-by=.spec.clusterIP', /web/],
  ['! kubectl get svc none', /^Error from server \(NotFound\): services "none" not found\n/],
  ['! kubectl get nonsense', /server doesn't have a resource type "nonsense"/],
  ['kubectl describe svc web', /Selector: +app=web\n[^]*TargetPort: +8080\/TCP\n[^]*Events: /],
  ['kubectl describe pod p', /Status: +Pending\n[^]*Image: +none\n/],
  ['kubectl describe namespace "$NS"', /Status: +Active\n/],
  ['kubectl get events --field-selector involvedObject.kind=Service', /No resources found in /],
]

const KNOWING: readonly Line[] = [
  ['kubectl version', /Server Version: .*v1\.\d+/],
  ['! kubectl version 2>&1 | grep -q skew', /^$/],
  ['kubectl cluster-info', /control plane.* is running at .*https:\/\/127\.0\.0\.1:\d+/],
  ['kubectl get --raw /readyz', /^ok$/],
  ['kubectl api-versions', /^discovery\.k8s\.io\/v1\n[^]*^discovery\.orch\.io\/v1\n/m],
  ['kubectl api-resources', /^services +svc +v1 +true +Service$/m],
  ['kubectl api-resources --api-group=rbac.authorization.orch.io -o name', /^clusterroles\./m],
  ['kubectl explain svc.spec.ports.nodePort', /<integer>\s+DESCRIPTION:\s+The port that is open/],
  ['kubectl explain svc.spec.ports.targetPort', /targetPort <IntOrString>/, 27],
  ['kubectl explain service --recursive', /timeoutSeconds\s*<integer>/],
  ['kubectl explain role.rules --api-version=rbac.authorization.orch.io/v1', /nonResourceURLs/],
  ['! kubectl explain svc.spec.nonsense', /field "nonsense" does not exist/],
]

const CREATING: readonly Line[] = [
  ['! kubectl create -f bad-field.yaml', /unknown field "(spec\.)?selektor"/],
  [
    '! kubectl create -f bad-value.yaml',
    /Service "web" is invalid: spec\.ports\[0\]\.port: .*70000/,
  ],
  ['kubectl create -f web.yaml --dry-run=server', /service\/web created \(server dry run\)/],
  ['kubectl create -f web.yaml', /service\/web created/],
  ['! kubectl create -f web.yaml', /\(AlreadyExists\).* services "web" already exists/],
  ['kubectl create namespace "$NS-more"', /namespace\/.*-more created/],
  ['kubectl create configmap c --from-literal=a=b', /configmap\/c created/],
  ['kubectl create secret generic s --from-literal=a=b', /secret\/s created/],
  ['kubectl create serviceaccount sa', /serviceaccount\/sa created/],
  ['kubectl create role r --verb=get --resource=pods', /role\..*\/r created/],
  ['kubectl create rolebinding rb --role=r --serviceaccount=$NS:sa', /rolebinding.*\/rb created/],
  ['kubectl create clusterrole $NS --verb=get --resource=pods', /clusterrole\..* created/],
  ['kubectl create clusterrolebinding $NS --clusterrole=$NS --user=u', /binding.* created/],
  ['kubectl create deployment d --image=none', /deployment\.apps\/d created/],
  ['kubectl run p --image=none', /pod\/p created/],
  ['kubectl create service clusterip none --clusterip=None', /service\/none created/],
  ['kubectl create service nodeport np --tcp=80:8080', /service\/np created/],
  ['kubectl create service loadbalancer lb --tcp=80:8080', /service\/lb created/],
  ['kubectl create service externalname far --external-name=example.com', /far created/],
  ['kubectl expose pod p --port=80 --name=exposed', /service\/exposed exposed/],
  ['kubectl expose service web --port=99 --name=again --type=NodePort', /service\/again exposed/],
  ['kubectl get svc', /^again +NodePort .* 99:3\d{4}\/TCP[^]*^far +ExternalName .*example\.com/m],
  [
    'kubectl get cm,secret,sa,role,rolebinding,deploy',
    /^role\S*\/r [^]*deployment\.apps\/d +0\/1 /m,
  ],
  ['kubectl describe role r', /pods +\[\] +\[\] +\[get\]/],
  ['kubectl describe rolebinding rb', /ServiceAccount +sa /],
  ['kubectl describe deployment d', /Replicas: +1 desired/],
  ['kubectl scale deployment d --replicas=3', /deployment\.apps\/d scaled/],
  ['kubectl scale deployment d --current-replicas=3 --replicas=2', /deployment\.apps\/d scaled/],
  [
    '! kubectl scale deployment d --current-replicas=9 --replicas=1',
    /Expected replicas to be 9, was 2/i,
  ],
  ['kubectl get deploy d', /^d +0\/2 /m],
  ['kubectl get deploy d --subresource=scale', /d /, 31],
  ['kubectl describe secret s', /^a: +1 bytes?$/m],
]

/** Makes Pods ready, as a node agent would, until the rollout of the Deployment `d` is complete. */
const ROLL = `until kubectl rollout status deploy/d --timeout=1s; do
  for pod in $(kubectl get pods -o name); do
    kubectl patch $pod --subresource=status -p '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}' ||
      kubectl get $pod --ignore-not-found
  done
done`

/** The first version that writes a status. */
const ROLLS = 24

const ROLLOUTS: readonly Line[] = [
  ['kubectl create deployment d --image=none:1', /created/],
  [ROLL, /"d" successfully rolled out\n$/, ROLLS],
  ['kubectl get rs', /^NAME +DESIRED +CURRENT +READY +AGE\nd-\w{10} +1 +1 +1 /, ROLLS],
  ['kubectl get rs -o wide', / none:1 +app=d,pod-template-hash=\w{10}\n$/],
  ['kubectl get all', /pod\/d-\w{10}-[^]*replicaset\.apps\/d-/],
  ['kubectl set image deploy/d none=none:2', /updated/],
  [ROLL, /"d" successfully rolled out\n$/, ROLLS],
  ['kubectl rollout history deploy/d', /^1 +<none>\n2 +<none>\n/m],
  ['kubectl rollout history deploy/d --revision=1', /Image:\s+none:1/],
  ['kubectl rollout undo deploy/d', /rolled back/],
  [ROLL, /"d" successfully rolled out\n$/, ROLLS],
  ["kubectl get deploy d -o jsonpath='{..image}'", /^none:1$/],
  ['kubectl rollout history deploy/d', /^2 +<none>\n3 +<none>\n/m],
  ['kubectl rollout undo deploy/d --to-revision=2', /rolled back/],
  ['kubectl rollout pause deploy/d', /paused/],
  ['kubectl rollout restart deploy/d 2>&1 || true', /can't restart paused deployment/],
  ['kubectl rollout resume deploy/d', /resumed/],
  ['kubectl rollout restart deploy/d', /restarted/],
  [ROLL, /"d" successfully rolled out\n$/, ROLLS],
  [
    'kubectl describe deploy d',
    /NewReplicaSet: +d-\w{10} \(1\/1 replicas created\)[^]*ScalingReplicaSet/,
    ROLLS,
  ],
  ['kubectl delete deploy d', /deleted/],
  [
    'kubectl wait pods --all --for=delete --timeout=60s',
    /^(?:pod\/\S+ condition met\n)*(?:error: no matching resources found\n)?$/,
    ROLLS,
  ],
]

/** Changes the template of a set and goes back, by its ControllerRevisions. */
const rollBack = (set: string): readonly Line[] => [
  [`kubectl rollout status ${set} --timeout=60s`, /rolled out|complete/],
  [`kubectl set image ${set} c=none:2`, /updated/],
  [`kubectl rollout status ${set} --timeout=60s`, /rolled out|complete/],
  [`kubectl rollout history ${set}`, /^1 +<none>\n2 +<none>\n/m],
  [`kubectl rollout history ${set} --revision=1`, /Image:\s+none:1/],
  [`kubectl rollout undo ${set}`, /rolled back/],
  [`kubectl rollout status ${set} --timeout=60s`, /rolled out|complete/],
  [`kubectl get ${set} -o jsonpath='{..image}'`, /^none:1$/],
  [`kubectl rollout history ${set}`, /^2 +<none>\n3 +<none>\n/m],
  [`kubectl rollout undo ${set} --to-revision=2`, /rolled back/],
  [`kubectl get ${set} -o jsonpath='{..image}'`, /^none:2$/],
]

const RETURNING: readonly Line[] = [
  ['kubectl create -f sets.yaml', /created\n.*created/],
  ...rollBack('ds/d'),
  ...rollBack('sts/s'),
  [
    'kubectl get controllerrevisions',
    /^NAME +CONTROLLER +REVISION +AGE\nd-\w{10} +daemonset\.apps\/d +\d /,
  ],
  ['kubectl get controllerrevisions', /^s-\w{10} +statefulset\.apps\/s +\d /m],
  ['kubectl delete ds/d sts/s', /deleted\n.*deleted/],
]

/** Lets a Pod of a Job end, as a node agent would, once there are so many. */
const endPod = (job: string, phase: string, count = 1): string => `
  pods() { kubectl get pods -l job-name=${job} -o name; }
  until [ $(pods | wc -l) = ${count} ]; do :; done
  kubectl patch $(pods | head -n 1) --subresource=status -p '{"status":{"phase":"${phase}"}}'`

const WORKING: readonly Line[] = [
  ['kubectl create job hello --image=none -- echo hello', /^job\.batch\/hello created\n$/],
  ['kubectl wait job/hello --for=jsonpath={.status.active}=1 --timeout=30s', /met/, 23],
  [
    'kubectl get jobs',
    /^NAME +STATUS +COMPLETIONS +DURATION +AGE\nhello +Running +0\/1 +\d+s +\d+s\n$/,
    23,
  ],
  [
    'kubectl get job hello -o wide',
    /CONTAINERS +IMAGES +SELECTOR\n.* hello +none +batch\.kubernetes\.io\/controller-uid=\S+\n$/,
  ],
  ['kubectl get all', /pod\/hello-\w{5} [^]*job\.batch\/hello /, 23],
  [
    'kubectl describe job hello',
    /Completions: +1\n[^]*Pods Statuses: +1 [^]*SuccessfulCreate +\S+ +job-controller +Created pod: hello-/,
    23,
  ],
  ['! kubectl wait --for=condition=complete job/hello --timeout=1s', /timed out waiting/],
  [endPod('hello', 'Succeeded'), /patched/, ROLLS],
  ['kubectl wait --for=condition=complete job/hello --timeout=30s', /hello condition met/, ROLLS],
  ['kubectl get jobs', /^hello +Complete +1\/1 +\d+s /m, ROLLS],
  ['kubectl get jobs --field-selector status.successful=1 -o name', /^job\.batch\/hello\n$/, ROLLS],
  ['kubectl describe job hello', /Completed +\S+ +job-controller +Job completed\n/, ROLLS],
  ['kubectl delete job hello', /^job\.batch "hello" deleted/],
  [
    'kubectl wait pods --all --for=delete --timeout=30s',
    /^(?:.*condition met\n|error: no.*\n)*$/,
    ROLLS,
  ],
  ['! kubectl create -f bad-job.yaml', /spec\.backoffLimitPerIndex: .*not supported/],
  ['kubectl apply -f job.yaml', /created/],
  ['kubectl apply -f job.yaml', /unchanged/],
  [endPod('strict', 'Failed', 2), /patched/, ROLLS],
  ['kubectl wait --for=condition=failed job/strict --timeout=30s', /condition met/, ROLLS],
  ['kubectl get jobs', /^strict +Failed +0\/2 /m, ROLLS],
  ['kubectl describe job strict', /2 Failed\n[^]*BackoffLimitExceeded/, ROLLS],
  ['kubectl replace --force -f job.yaml', /deleted[^]*replaced/],
  [`kubectl patch job strict -p '{"spec":{"suspend":true}}'`, /patched/],
  ['kubectl wait --for=condition=suspended job/strict --timeout=30s', /condition met/],
  ['kubectl get jobs', /^strict +Suspended +0\/2 /m],
  ['! kubectl set image job/strict c=other', /immutable/],
  ['kubectl explain job.spec.suspend', /No pods run as long as this is true/],
  ['kubectl delete job strict', /deleted/],
]

const CHANGING: readonly Line[] = [
  ['kubectl apply -f web.yaml', /service\/web created/],
  ['kubectl apply -f web.yaml', /service\/web unchanged/],
  ['kubectl apply --dry-run=server -f web-81.yaml', /service\/web configured \(server dry run\)/],
  ['! kubectl diff -f web-81.yaml', /^-    port: 80\n\+    port: 81\n/m],
  ['kubectl apply -f web-81.yaml', /service\/web configured/],
  ['kubectl diff -f web-81.yaml', /^$/],
  ['kubectl apply view-last-applied svc web', /port: 81/],
  ["kubectl get svc web -o jsonpath='{.spec.ports[*].port}'", /^81$/],
  [`kubectl patch svc web -p '{"spec":{"ports":[{"port":81,"targetPort":9}]}}'`, /patched/],
  [`kubectl patch svc web --type=merge -p '{"metadata":{"labels":{"m":"1"}}}'`, /patched/],
  [
    `kubectl patch svc web --type=json -p '[{"op":"remove","path":"/metadata/labels/m"}]'`,
    /patched/,
  ],
  ["kubectl get svc web -o jsonpath='{.metadata.labels}{.spec.ports}'", /^.*"app":"web"}.*:9}\]$/],
  ['kubectl label svc web tier=front', /service\/web labeled/],
  ['! kubectl label svc web tier=back', /'tier' already has a value \(front\)/],
  ['kubectl label svc web tier=back --overwrite', /service\/web labeled/],
  ['kubectl annotate svc web note=heard', /service\/web annotate/],
  ['kubectl get svc -l tier=back -o jsonpath={.items[0].metadata.annotations.note}', /^heard$/],
  ['kubectl label svc web tier-', /service\/web (un)?labeled/],
  ['kubectl set selector svc web app=other', /service\/web selector updated/],
  ["EDITOR='sed -i s/app:.other/app:\\ edited/' kubectl edit svc web", /service\/web edited/],
  ['kubectl get svc web -o jsonpath={.spec.selector.app}', /^edited$/],
  ['kubectl replace -f web.yaml', /service\/web replaced/],
]

const APPLYING: readonly Line[] = [
  ['kubectl apply --server-side -f web.yaml', /service\/web serverside-applied/],
  [
    '! kubectl apply --server-side --field-manager=other -f web-8081.yaml',
    /1 conflict: conflict with "kubectl": \.spec\.ports\[port=80,protocol="TCP"\]\.targetPort/,
  ],
  [
    'kubectl apply --server-side --field-manager=other --force-conflicts -f web-8081.yaml',
    /service\/web serverside-applied/,
  ],
  ['kubectl get svc web -o jsonpath={.spec.ports[0].targetPort}', /^8081$/],
  [
    '! kubectl diff --server-side --force-conflicts -f web.yaml',
    /-    targetPort: 8081\n\+    targetPort: 8080\n/,
  ],
  ['kubectl get svc web -o yaml --show-managed-fields', /manager: other\n +operation: Apply/, 21],
  ['kubectl label svc web tier=front', /label/],
  ['kubectl label svc web --overwrite app=other', /label/],
  [
    '! kubectl apply --server-side --field-manager=other -f web-8081.yaml',
    /1 conflict: conflict with "kubectl-label" using v1[^]*\.metadata\.labels\.app/,
  ],
  ['kubectl apply --server-side --force-conflicts -f web.yaml', /serverside-applied/],
  ['kubectl get svc web -o jsonpath={.metadata.labels}', /^{"app":"web","tier":"front"}$/],
  ['kubectl delete svc web', /deleted/],
  ['kubectl apply -f web.yaml', /service\/web created/],
  ['kubectl apply --server-side -f web-8081.yaml', /service\/web serverside-applied/],
  ['kubectl get svc web -o jsonpath={.spec.ports[*].targetPort}', /^8081$/],
]

const WAITING: readonly Line[] = [
  ['kubectl create -f pod.yaml', /pod\/p created/],
  ['! kubectl wait --for=condition=Ready pod/p --timeout=1s', /timed out waiting/],
  [
    `${WATCH_LIST} kubectl wait --for=condition=Ready pod/p --timeout=30s & ${MAKE_READY}; wait $!`,
    /^pod\/p condition met$/m,
  ],
  ["kubectl wait --for=jsonpath='{.status.phase}'=Running pod/p --timeout=9s", /condition met/, 23],
  [`kubectl patch pod p --subresource=status -p '{"status":{"phase":"Failed"}}'`, /patched/, 24],
  [
    'kubectl wait --for=delete pod/p --timeout=30s & kubectl delete pod p; wait $!',
    /"p" deleted/,
    27,
  ],
  ['kubectl delete pod --all', /deleted|^No resources found/],
  ['kubectl create -f web.yaml -f endpoints.yaml', /created/],
  ['kubectl delete -f web.yaml --wait', /service "web" deleted/],
  ['kubectl delete endpoints --all', /endpoints "hand" deleted/],
  ['! kubectl delete svc web', /\(NotFound\): services "web" not found/],
  ['kubectl delete svc web --ignore-not-found', /^$/],
  ['kubectl create configmap last --from-literal=a=b', /created/],
  ['kubectl delete namespace "$NS"', /namespace ".*" deleted/],
  ['! kubectl get configmap last', /NotFound/],
]

export const SCENES: readonly Scene[] = [
  { name: 'reads', lines: READING },
  { name: 'knows', lines: KNOWING },
  { name: 'creates', lines: CREATING },
  { name: 'changes', lines: CHANGING },
  { name: 'applies', lines: APPLYING },
  { name: 'waits', lines: WAITING },
  { name: 'rolls', lines: ROLLOUTS },
  { name: 'returns', lines: RETURNING },
  { name: 'works', lines: WORKING },
]
