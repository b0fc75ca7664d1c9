/** Commands of a page that no test runs as the page shows them. */
export interface Unexecuted {
  readonly page: string
  readonly commands: readonly string[]
}

const SIGNAL: readonly Unexecuted[] = ['./README.md', 'orch-server.md', 'upgrade.md'].map(
  (page) => ({ page, commands: ['kill -9'] }),
)

/** By the reason. A command that is no longer on its page, or that a test now runs, fails a test. */
export const UNEXECUTED: ReadonlyMap<string, readonly Unexecuted[]> = new Map([
  [
    'code that is no command: a signal, a table of nftables, an error, what a program prints',
    [
      ...SIGNAL,
      { page: 'nftables.md', commands: ['ip node-proxy', 'ip kube-proxy'] },
      { page: 'network-policy.md', commands: ['ip node-proxy-policies'] },
      { page: 'inspection.md', commands: ['node-proxy of node … (NP_INSPECTION_…)'] },
    ],
  ],
  [
    'it runs these tests, or all tests',
    [
      { page: './README.md', commands: ['npm test', 'npm run test:docker'] },
      { page: 'docker/README.md', commands: ['npm run test:docker'] },
      {
        page: 'take-over.md',
        commands: ['npm run test:upstream -- take-over', 'npm run test:cluster -- takeover'],
      },
      { page: 'configuration.md', commands: ['npx vitest run src/nodeproxy/config --update'] },
      {
        page: 'troubleshooting.md',
        commands: ['npx vitest run src/nodeproxy/testing/api-failures --update'],
      },
    ],
  ],
  [
    'test/charts compares the objects of the overlay; test/cluster applies its rights',
    [
      {
        page: 'network-policy.md',
        commands: ['kubectl apply -k config/kubernetes/overlays/network-policy'],
      },
      {
        page: 'announcement.md',
        commands: ['kubectl apply -k config/kubernetes/overlays/announcement'],
      },
    ],
  ],
  [
    'every command that brings the tests runs it first; test/architecture/setup.test.ts',
    [
      { page: 'docker/README.md', commands: ['scripts/setup'] },
      { page: 'install.md', commands: ['scripts/setup'] },
      { page: 'troubleshooting.md', commands: ['scripts/setup', 'apt-get install libatomic1'] },
      {
        page: 'image.md',
        commands: ['git clone … node-proxy && cd node-proxy', 'scripts/setup'],
      },
    ],
  ],
  [
    'test/kernel/image/other-processor.test.ts starts what it starts',
    [{ page: 'image.md', commands: ['npm run image -- --architecture=arm64'] }],
  ],
  [
    'test/packages/main.ts starts what it starts',
    [
      { page: './README.md', commands: ['npm run packages'] },
      { page: 'install.md', commands: ['npm run packages'] },
      { page: 'orchctl.md', commands: ['npm run packages -- npm'] },
    ],
  ],
  [
    'needs a terminal and ends by Ctrl-C; src/sandbox has tests of its own',
    [
      {
        page: './README.md',
        commands: ['npm start', 'npm start -- --proxy-mode=MODE', 'npm start -- --once'],
      },
    ],
  ],
  [
    'git and npm are programs of the test, which copy the checkout: there is no network',
    [
      { page: 'upgrade.md', commands: ['npm ci'] },
      { page: 'install.md', commands: ['npm ci'] },
      { page: './README.md', commands: ['npm ci --omit=dev'] },
      {
        page: 'install.md',
        commands: [
          'git clone … /opt/node-proxy-0.1.0 && cd /opt/node-proxy-0.1.0 && npm ci --omit=dev',
        ],
      },
      {
        page: 'orch-server.md',
        commands: [
          'git clone … /opt/node-proxy-0.1.0 && cd /opt/node-proxy-0.1.0 && npm ci --omit=dev',
        ],
      },
      {
        page: 'upgrade.md',
        commands: [
          'git clone … /opt/node-proxy-0.1.1 && cd /opt/node-proxy-0.1.1 && npm ci --omit=dev && bin/node-proxy --version',
        ],
      },
    ],
  ],
  [
    'a test ends and starts orch-server itself; test/kernel/machine has the unit',
    [
      {
        page: 'encryption.md',
        commands: ['systemctl stop orch-server', 'systemctl start orch-server'],
      },
      { page: 'security.md', commands: ['systemctl restart orch-server'] },
    ],
  ],
  [
    'systemctl is a script of two programs, because kube-proxy has no unit',
    [
      {
        page: 'take-over.md',
        commands: [
          'systemctl enable --now node-proxy',
          'systemctl disable --now kube-proxy',
          'systemctl enable --now kube-proxy',
          'systemctl disable --now node-proxy',
          'systemctl restart node-proxy',
        ],
      },
    ],
  ],
  [
    'systemctl is a script that starts what the unit says; files reach another machine by a script, too',
    [
      {
        page: 'cluster.md',
        commands: [
          'systemctl enable --now orch-server',
          'systemctl enable --now kubelet',
          'systemctl enable --now node-proxy',
          'systemctl stop kubelet',
          'systemctl start kubelet',
          'systemctl restart kubelet',
          'systemctl restart orch-server',
          'systemctl disable --now kubelet',
          'systemctl disable --now node-proxy',
          'scp bootstrap.kubeconfig /var/lib/orch-server/pki/ca.crt "$NODE:/var/lib/kubelet/"',
          'scp bootstrap.kubeconfig "$NODE:/var/lib/kubelet/"',
          'scp node-proxy.kubeconfig "$NODE:/root/"',
        ],
      },
    ],
  ],
  [
    'installs programs, which the machines of test/cluster have',
    [
      {
        page: 'cluster.md',
        commands: [
          'git clone … /opt/node-proxy-0.1.0 && cd /opt/node-proxy-0.1.0 && npm ci --omit=dev',
          'apt-get install --no-install-recommends jq kubernetes-client openssl',
          'apt-get install --no-install-recommends containerd containernetworking-plugins runc',
          'curl -fL https://dl.k8s.io/v1.20.2/kubernetes-node-linux-amd64.tar.gz | tar -xz -C /usr/local/bin --strip-components=3 kubernetes/node/bin/kubelet',
        ],
      },
    ],
  ],
  [
    'needs kubelets',
    [
      {
        page: 'take-over.md',
        commands: [
          "kubectl -n kube-system logs --prefix --tail -1 --selector app.kubernetes.io/name=node-proxy | grep 'the rules are in the kernel for the first time'",
          'kubectl -n kube-system rollout status daemonset/node-proxy',
          'kubectl -n kube-system rollout status daemonset/clean-up-kube-proxy',
          'kubectl -n kube-system rollout status daemonset/kube-proxy',
          'kubectl -n kube-system rollout status daemonset/clean-up-node-proxy',
          'kubeadm upgrade',
          'orchctl take-over node-7 --yes',
          'orchctl take-over --yes',
          'orchctl take-over --back --yes',
          'orchctl take-over --help',
        ],
      },
      {
        page: 'install.md',
        commands: [
          'kubectl apply -f config/kubernetes/node-proxy/',
          'kubectl -n kube-system rollout status daemonset/node-proxy',
        ],
      },
      {
        page: 'helm.md',
        commands: [
          'kubectl -n kube-system rollout status daemonset/node-proxy',
          'kubectl -n kube-system rollout status daemonset/clean-up-node-proxy',
          'kubectl -n orch-system rollout status statefulset/orch-server',
          'kubectl -n orch-system exec orch-server-0 -- /opt/node-proxy/bin/orch-server kubeconfig --config=/etc/orch-server/config.yaml --user admin --group system:masters --server https://orch-server.orch-system.svc:6443 > admin.kubeconfig',
          'kubectl -n orch-system delete pvc data-orch-server-0',
        ],
      },
    ],
  ],
  [
    'needs a second machine with an SSH server',
    [
      { page: 'page.md', commands: ['ssh -L 10247:127.0.0.1:10247 node-7'] },
      { page: 'inspection.md', commands: ['ssh -L 10247:127.0.0.1:10247 NODE'] },
      {
        page: 'install.md',
        commands: ['tar -C /opt -c node-proxy-0.1.0 | ssh MACHINE tar -C /opt -x'],
      },
    ],
  ],
  [
    'needs a mirror of Debian; npm run test:docker makes such a folder, with other options',
    [
      {
        page: 'docker/README.md',
        commands: [
          'debootstrap --variant=minbase --include=conntrack,curl,ipset,iproute2,iptables,ipvsadm,keepalived,kmod,libatomic1,libstdc++6,nftables,openssl,procps,tcc,user-mode-linux,util-linux bookworm ../my-debian',
        ],
      },
    ],
  ],
  [
    'test/docker/ipvs.docker.test.ts starts these containers by the API of the engine',
    [
      {
        page: 'docker/README.md',
        commands: [
          'docker run --rm --cap-add NET_ADMIN --cap-add SYS_ADMIN --security-opt systempaths=unconfined --security-opt seccomp=unconfined --security-opt apparmor=unconfined node-proxy-kernel-test node node_modules/vitest/vitest.mjs run --project ipvs test/kernel/schedulers.ipvs.test.ts',
          'docker run --rm --user 1000:1000 --cap-drop ALL --security-opt no-new-privileges --network none --tmpfs /uml:exec,mode=1777 --env TMPDIR=/uml node-proxy-kernel-test node src/uml/main.ts node node_modules/vitest/vitest.mjs run --project ipvs test/kernel/schedulers.ipvs.test.ts',
        ],
      },
    ],
  ],
  [
    'programs of etcd, on its own',
    [
      {
        page: 'orch-server.md',
        commands: [
          'etcdctl defrag',
          'etcdctl snapshot save',
          'etcdutl snapshot restore --bump-revision=1000000000 --mark-compacted',
        ],
      },
    ],
  ],
  [
    'a mode by its flag, with flags that the page leaves out; the tests of the mode run it',
    [
      { page: 'ipvs.md', commands: ['bin/node-proxy --proxy-mode=ipvs …'] },
      { page: 'userspace.md', commands: ['bin/node-proxy --proxy-mode=userspace …'] },
      { page: 'configuration.md', commands: ['node-proxy --config=FILE'] },
      { page: 'image.md', commands: ['node-proxy --init-only'] },
    ],
  ],
  [
    'describes a form with operands in capitals, which the blocks of the page fill in',
    [
      { page: 'dns.md', commands: ['orchctl resolve NAME --from pod/NAME'] },
      {
        page: 'orchctl.md',
        commands: ['orchctl explain SOURCE DESTINATION', 'orchctl resolve NAME --from pod/NAME'],
      },
      {
        page: 'troubleshooting.md',
        commands: ['node-proxy explain SOURCE DESTINATION', 'orchctl doctor --token-file FILE'],
      },
    ],
  ],
  [
    'names a command of another program, what it does or does not do',
    [
      { page: 'install.md', commands: ['iptables -F', 'systemctl status', 'systemctl edit'] },
      { page: 'nftables.md', commands: ['nft flush ruleset', 'nft -j list ruleset'] },
      { page: 'upgrade.md', commands: ['iptables-restore --test'] },
      { page: 'security.md', commands: ['kubectl version'] },
      { page: 'encryption.md', commands: ['kubectl delete secret'] },
      { page: 'orch-server.md', commands: ['kubectl config'] },
      { page: 'masquerade.md', commands: ['conntrack -S'] },
    ],
  ],
  [
    'measures for an hour',
    [
      {
        page: 'masquerade.md',
        commands: [
          'scripts/node bench/masquerade/main.ts --keep --processes=3 --subjects=kube-proxy',
          "scripts/node bench/masquerade/main.ts --keep --rates=500 --processes=2 --subjects='node-proxy iptables'",
          "scripts/node bench/masquerade/main.ts --keep --rates=100 --clients=1,2,10 --subjects='node-proxy ipvs'",
        ],
      },
    ],
  ],
  [
    'has no test yet',
    [
      {
        page: 'ipvs.md',
        commands: [
          'ipvsadm -Ln',
          'ipvsadm -Lnc',
          'ipset list NPVS-4-SERVICES',
          'ipset list NPVS-4-REJECT',
          'iptables-save -t filter | grep NPVS-RANGES || true',
          'iptables-save | grep NPVS-',
          'ip rule; ip route show table 28272',
          'ipvsadm -Ln --stats',
          'ipvsadm -C',
        ],
      },
      { page: 'audit.md', commands: ['jq \'select(.kind == "Event")\''] },
      { page: 'nftables.md', commands: ['nft -j list table ip node-proxy'] },
      {
        page: 'take-over.md',
        commands: [
          'mkdir -p /run/other-variant',
          'for program in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do ln -sf "$(command -v xtables-legacy-multi)" /run/other-variant/$program; done',
          'PATH=/run/other-variant:$PATH kube-proxy --cleanup',
          'rm -r /run/other-variant',
          'iptables-nft-save | grep -c KUBE-SVC',
          'iptables-legacy-save | grep -c KUBE-SVC',
          'iptables -t TABLE -X KUBE-PROXY-CANARY',
          'sysctl -w net.ipv4.conf.all.route_localnet=0',
        ],
      },
      {
        page: 'troubleshooting.md',
        commands: [
          'orchctl describe pod pulled -n shop',
          'kubectl auth can-i watch services --as=system:serviceaccount:kube-system:node-proxy',
        ],
      },
    ],
  ],
])
