import { describe, expect, test } from 'vitest';
import { BUNDLED, render, runHelm, CHART } from './support/helm.ts';
import { REFUSED } from './support/refused.ts';
import { one } from './support/manifests.ts';
import { chartSuite, newestHelm } from './support/suite.ts';

chartSuite('values that render, but that Kubernetes refuses', () => {
  test.each(REFUSED)('%s is refused with a remedy', async (json, message) => {
    await expect(render(newestHelm(), { set: BUNDLED, json: [json] })).rejects.toThrow(message);
  });

  test('are reported together', async () => {
    const json = ['service={"nodePort":30080}', 'commonLabels={"a b":"c"}', 'extraEnv=[{"name":"A","value":1}]'];
    await expect(render(newestHelm(), { set: BUNDLED, json })).rejects.toThrow(
      /commonLabels has "a b"[\s\S]*extraEnv: the value of A[\s\S]*service\.nodePort is for/,
    );
  });

  test.each(['my.release', '2nd', '123'])('a release called %s gets valid names', async (release) => {
    const args = ['template', release, CHART, ...BUNDLED.flatMap((value) => ['--set', value])];
    await expect(runHelm(newestHelm(), args)).rejects.toThrow(/fullnameOverride is needed/);
    expect(await runHelm(newestHelm(), [...args, '--set', 'fullnameOverride=hooks'])).toContain(
      `app.kubernetes.io/instance: "${release}"`,
    );
  });

  describe('the tag of the image as a label', () => {
    const version = async (tag: string): Promise<string | undefined> =>
      one(await render(newestHelm(), { set: [...BUNDLED, `image.tag=${tag}`] }), 'Deployment', '-api').metadata
        .labels?.['app.kubernetes.io/version'];

    test.each([
      ['_build.7-', 'build.7'],
      [`${'a'.repeat(62)}-${'b'.repeat(40)}`, 'a'.repeat(62)],
      ['main-0a1b2c3', 'main-0a1b2c3'],
    ])('%s is %s: a label is shorter, and begins and ends with a letter or digit', async (tag, label) => {
      expect(await version(tag)).toBe(label);
    });
  });

  test.each([
    'networkPolicy={"enabled":true,"apiFrom":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}},{"ipBlock":{"cidr":"2001:db8::/32"}},{"namespaceSelector":{}},{"podSelector":{"matchLabels":{"a":"b"}},"namespaceSelector":{}}]}',
    'ingress={"enabled":true,"hosts":["hooks.example.com","*.hooks.example.com"],"tls":[{"secretName":"cert","hosts":["hooks.example.com"]}]}',
    'api.resources={"requests":{"cpu":1,"memory":"1073741824","nvidia.com/gpu":1},"limits":{"cpu":"1e0","nvidia.com/gpu":1}}',
    'worker.strategy.rollingUpdate={"maxSurge":0,"maxUnavailable":"25%"}',
    'tolerations=[{"operator":"Exists"},{"key":"a","value":"b","effect":"NoExecute","tolerationSeconds":60}]',
    'api={"extraVolumes":[{"name":"a","emptyDir":{}}],"extraVolumeMounts":[{"name":"a","mountPath":"/a"},{"name":"tmp","mountPath":"/var/tmp","subPath":"b"}]}',
    'api.autoscaling={"enabled":true,"behavior":{"scaleUp":{"selectPolicy":"Max","policies":[{"type":"Percent","value":100,"periodSeconds":15}]}}}',
    'podAnnotations={"Example.com/Name":"any text: {}"}',
    'service={"type":"NodePort","nodePort":30080,"externalTrafficPolicy":"Local"}',
    'image={"tag":null}',
    'api={"probes":{"startup":null,"liveness":null},"tolerations":null,"extraVolumes":[],"topologySpreadConstraints":null}',
    'httpRoute={"enabled":true,"parentRefs":[{"name":"g"}],"hostnames":["a.example.com"],"timeouts":null}',
    'worker.keda={"enabled":true,"fallback":{"failureThreshold":3,"replicas":4}}',
  ])('%s is accepted', async (json) => {
    expect(await render(newestHelm(), { set: BUNDLED, json: [json] })).not.toEqual([]);
  });
});
