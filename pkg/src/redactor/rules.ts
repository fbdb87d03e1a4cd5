/**
 * Written by scripts/redact-rules.mjs from rules of gitleaks and those in the script. gitleaks:
 * MIT License
 *
 * Copyright (c) 2019 Zachary Rice
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 */

/** Sets of ASCII characters, as pairs: from, to. */
export const CLASSES: readonly string[] = [
  "--09AZ__az",
  "09az",
  "09af",
  "09AZaz",
  "--09AZaz",
  "++/9==AZaz",
  "++/9AZaz",
  "\t\r  ",
  "++-9==AZ__az",
  "09",
  "  ",
  "++-9==AZ__az~~",
  "\"\"''",
  "\u0000\b\u000e\u001f!!$&(.09;;==AZ\\",
  "\u0000\b\u000e\u001f!!$&(.0;==A",
  "09AZ",
  "==",
  "09AFaf",
  "0029AACHJNPZ",
  "--09==AZ__az",
  "--__",
  "++--/9==AZ__az",
  "27AZ",
  "..09AZ__az~~",
  "-.09AZ__az~~",
  "CCMM",
  "09AHah",
  "aarr",
  "09AZ__az",
  "AZaz",
  "-9==AZ\\\\__az",
  "aa",
  "++--/9AZ\\\\__az",
  "--/9@Zaz",
  "-.09==AZ__az",
  "++/9==AZ__az",
  "\u0000\t\u000b",
  "BBPPbbpp",
  "ooss",
  "eepp",
  "%%09AZaz",
]

/** Rules: flags, entropy, anchors, what stands before, what follows (see `tables.ts`). */
export const RULES: readonly string[] = [
  // openai-key
  "mbo`3.2`=sk-``0.20-512",
  // anthropic-key
  "bo`3`=sk-ant-``1.3-8 =- 0.20-512",
  // openrouter-key, langsmith-key
  "bo`3`=sk-or-v1-|=lsv2_pt_|=lsv2_sk_``2.32-512",
  // groq-key, replicate-key
  "bo`3`=gsk_|=r8_``3.32-512",
  // xai-key
  "bo`3`=xai-``3.40-512",
  // nvidia-key, square-secret
  "bo`3`=nvapi-|=sq0csp-``0.40-512",
  // cerebras-key
  "bo`3`=csk-``1.40-512",
  // fireworks-key
  "mbo`3`=fw_``3.20-512",
  // together-key
  "bo`3`=tgp_v1_``0.30-512",
  // huggingface-key
  "bo`3`=hf_``3.30-512",
  // tavily-key
  "bo`3`=tvly-``4.20-512",
  // google-oauth-token, google-client-secret, docker-token, openai-api-key
  "bo`3`=ya29.|=GOCSPX-|=dckr_pat_|=sk-proj-|=sk-svcacct-|=sk-admin-|=sk-None-``0.20-512",
  // stripe-webhook-secret
  "bo`3`=whsec_``5.20-512",
  // supabase-key
  "bo`3`=sbp_``2.40-512",
  // azure-storage-key
  "`3`accountkey=``( 6.86 === )",
  // npm-auth-token
  "o`2`_authtoken``7.0-1 == 7.0-1 ( 8.10-512 )",
  // mailchimp-key
  "be`2`=-us`2.32`9.1-2",
  // telegram-token
  "bo`3`=:AA`9.8-10`0.33-512",
  // discord-token
  "be`3.5`=M|=N|=O``0.23-25 =. 0.6 =. 0.27-38",
  // bearer
  "mbo`3`bearer``a.1-3 ( b.16-512 )",
  // basic
  "bo`2`authorization``c.0-1 =: a.0-3 c.0-1 ~basic =  ( 5.8-512 )",
  // url-password
  "`0`://``d.0-128 =: ( e.1-128 ) =@",
  // 1password-secret-key
  "be`3.8`=A3-``f.6 =- f.11 =- f.5 =- f.5 =- f.5",
  // 1password-secret-key
  "be`3.8`=A3-``f.6 =- f.6 =- f.5 =- f.5 =- f.5 =- f.5",
  // 1password-service-account-token
  "`4`=ops_eyJ``6.250-512 g.0-3",
  // adafruit-api-key
  "k`0`adafruit``0.32",
  // adobe-client-id, linear-client-secret
  "k`2`adobe|linear``h.32",
  // adobe-client-secret
  "bo`2`=p8e-``3.32",
  // age-secret-key
  "o`0`=AGE-SECRET-KEY-1``i.58",
  // airtable-api-key
  "k`0`airtable``3.17",
  // airtable-personnal-access-token
  "be`0`=pat``3.14 =. 2.64",
  // algolia-api-key, asana-client-secret, bitbucket-client-id, bittrex-access-key, bittrex-secret-key, codecov-access-token, droneci-access-token, flickr-access-token
  "k`0`algolia|asana|bitbucket|bittrex|codecov|droneci|flickr``3.32",
  // alibaba-access-key-id
  "bo`2`=LTAI``3.20",
  // alibaba-secret-key
  "k`2`alibaba``3.30",
  // anthropic-admin-api-key, anthropic-api-key
  "b`0`=sk-ant-admin01-|=sk-ant-api03-``0.93 =AA",
  // artifactory-api-key
  "bo`4.5`=AKCp``3.69",
  // artifactory-reference-token
  "bo`4.5`=cmVmd``3.59",
  // asana-client-id
  "k`0`asana``9.16",
  // atlassian-api-token
  "k`3.5`atlassian|confluence|jira``3.20 h.4",
  // atlassian-api-token
  "k`3.5`atlassian|confluence|jira``~atatt =3 j.186",
  // authress-service-client-access-key
  "be`2`=sc_``3.5-30 =. 3.4-6 =.acc k.1 4.10-32 =. l.30-120",
  // authress-service-client-access-key
  "bo`2`=ext_|=scauth_|=authress_``3.5-30 =. 3.4-6 =.acc k.1 4.10-32 =. l.30-120",
  // aws-access-token
  "be`3`=A3T``f.1 m.16",
  // aws-access-token
  "bo`3`=AKIA|=ASIA|=ABIA|=ACCA``m.16",
  // aws-amazon-bedrock-api-key-long-lived
  "b`3`=ABSK``6.109-269 g.0-2",
  // aws-amazon-bedrock-api-key-short-lived
  "o`3`=bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t``l.0-512",
  // azure-ad-client-secret
  "`3`=Q~`n.3 9.1`o.31-34",
  // beamer-api-token
  "k`0`beamer``~b =_ j.44",
  // bitbucket-client-secret
  "k`0`bitbucket``j.64",
  // cisco-meraki-api-key
  "k`3`meraki``2.40",
  // clickhouse-cloud-api-secret-key
  "bo`3`=4b1d``3.38",
  // clojars-api-token
  "o`2`clojars_``3.60",
  // cloudflare-api-key
  "k`2`cloudflare``0.40",
  // cloudflare-global-api-key
  "k`2`cloudflare``h.37",
  // cloudflare-origin-ca-key
  "bo`2`=v1.0-``2.24 =- 2.146",
  // cohere-api-token
  "k`4`cohere|co_api_key``3.40",
  // coinbase-access-token
  "k`0`coinbase``0.64",
  // confluent-access-token
  "k`0`confluent``3.16",
  // confluent-secret-key, freshbooks-access-token, jfrog-identity-token, new-relic-user-api-id
  "k`0`confluent|freshbooks|jfrog|artifactory|bintray|xray|new-relic|newrelic|new_relic``3.64",
  // contentful-delivery-api-token
  "k`0`contentful``j.43",
  // databricks-api-token
  "bo`3`=dapi``2.32 =- 9.1",
  // databricks-api-token
  "bo`3`=dapi``2.32",
  // datadog-access-token, zendesk-secret-key
  "k`0`datadog|zendesk``3.40",
  // defined-networking-api-token
  "k`0`dnkey``~dnkey =- j.26 =- j.52",
  // digitalocean-access-token, digitalocean-pat
  "bo`3`=doo_v1_|=dop_v1_``2.64",
  // digitalocean-refresh-token
  "bo`0`dor_v1_``h.64",
  // discord-api-token
  "k`0`discord``h.64",
  // discord-client-id
  "k`2`discord``9.18",
  // discord-client-secret
  "k`2`discord``j.32",
  // doppler-api-token
  "o`2`=dp.pt.``3.43",
  // dropbox-api-token
  "k`0`dropbox``3.15",
  // dropbox-long-lived-api-token
  "k`0`dropbox``3.11 ~aaaaaaaaaa j.43",
  // dropbox-short-lived-api-token
  "k`0`dropbox``~sl =. j.135",
  // duffel-api-token
  "o`2`=duffel_test_|=duffel_live_``j.43",
  // dynatrace-api-token
  "o`4`=dt0c01.``3.24 =. 3.64",
  // easypost-api-token, easypost-test-api-token
  "bo`2`=EZAK|=EZTK``3.54",
  // etsy-access-token
  "k`3`etsy``3.24",
  // facebook-page-access-token
  "bo`4`=EAA``p.1 3.100-512",
  // facebook-secret
  "k`3`facebook``h.32",
  // fastly-api-token, nytimes-access-token
  "k`0`fastly|nytimes|new-york-times,|newyorktimes``j.32",
  // finicity-api-token
  "k`0`finicity``h.32",
  // finicity-client-secret, finnhub-access-token, looker-client-id
  "k`0`finicity|finnhub|looker``3.20",
  // flutterwave-encryption-key
  "o`2`=FLWSECK_TEST-``q.12",
  // flutterwave-public-key, flutterwave-secret-key
  "`2`=FLWPUBK_TEST-|=FLWSECK_TEST-``q.32 =- ~x",
  // flyio-access-token
  "bo`4`=fo1_``0.43",
  // flyio-access-token
  "be`4`=fm1``r.1 =_ 6.100-512 g.0-3",
  // flyio-access-token
  "b`4`=fm2_``6.100-512 g.0-3",
  // frameio-api-token
  "o`0`=fio-u-``j.64",
  // gcp-api-key
  "bo`4`=AIza``0.35",
  // github-app-token, github-oauth, github-pat, github-refresh-token
  "o`3`=ghu_|=ghs_|=gho_|=ghp_|=ghr_``3.36",
  // github-fine-grained-pat
  "o`3`=github_pat_``s.82",
  // gitlab-cicd-job-token
  "o`3`=glcbt-``3.1-5 =_ 0.20",
  // gitlab-deploy-token, gitlab-feature-flag-client-token, gitlab-feed-token, gitlab-pat, gitlab-rrt, gitlab-runner-authentication-token, gitlab-scim-token
  "o`3`=gldt-|=glffct-|=glft-|=glpat-|=GR1348941|=glrt-|=glsoat-``0.20",
  // gitlab-incoming-mail-token
  "o`3`=glimt-``0.25",
  // gitlab-kubernetes-agent-token
  "o`3`=glagent-``0.50",
  // gitlab-oauth-app-secret
  "o`3`=gloas-``0.64",
  // gitlab-pat-routable
  "bo`4`=glpat-``0.27-300 =. 1.9",
  // gitlab-ptt
  "o`3`=glptt-``2.40",
  // gitlab-runner-authentication-token-routable
  "bo`4`=glrt-t``9.1 =_ 0.27-300 =. 1.2 1.7",
  // gitlab-session-cookie
  "o`3`=_gitlab_session=``1.32",
  // gitter-access-token
  "k`0`gitter``0.40",
  // gocardless-api-token
  "k`0`gocardless``~live =_ j.40",
  // grafana-api-key
  "b`3`eyjrijoi``3.70-400 g.0-3",
  // grafana-cloud-api-token
  "b`3`glc_``6.32-400 g.0-3",
  // grafana-service-account-token
  "bo`3`glsa_``3.32 =_ h.8",
  // harness-api-key
  "o`0`=pat.|=sat.``0.22 =. 3.24 =. 3.20",
  // hashicorp-tf-api-token
  "`3.5`=.atlasv1.`3.14`j.60-70",
  // heroku-api-key, hubspot-api-key, kucoin-secret-key, messagebird-client-id, sendbird-access-id, snyk-api-token, squarespace-access-token
  "k`0`heroku|hubspot|kucoin|messagebird|message-bird|message_bird|sendbird|snyk|squarespace``h.8 =- h.4 =- h.4 =- h.4 =- h.12",
  // heroku-api-key-v2
  "bo`4`=HRKU-AA``0.58",
  // huggingface-access-token
  "be`2`=hf_``t.34",
  // huggingface-organization-api-token
  "bo`2`=api_org_``t.34",
  // infracost-api-token
  "bo`3`=ico-``3.32",
  // intercom-api-key
  "k`0`intercom``j.60",
  // intra42-client-secret
  "bo`3`=s-s4t2ud-|=s-s4t2af-``h.64",
  // jfrog-api-key
  "k`0`jfrog|artifactory|bintray|xray``3.73",
  // jwt
  "bo`3`=ey``0.10-512 =.ey u.10-512",
  // jwt-base64
  "b`2`=ZXlK``v.0-1 w.60-512 g.0-2",
  // kraken-access-token
  "k`0`kraken``l.80-90",
  // kucoin-access-token
  "k`0`kucoin``h.24",
  // launchdarkly-access-token, sonar-api-token
  "k`0`launchdarkly|sonar``j.40",
  // linear-api-key
  "o`2`=lin_api_``3.40",
  // linkedin-client-id
  "k`2`linkedin|linked-in|linked_in``3.14",
  // linkedin-client-secret
  "k`2`linkedin|linked-in|linked_in``3.16",
  // lob-api-key
  "k`0`lob``~live =_ h.35",
  // lob-api-key
  "k`0`lob``~test =_ h.35",
  // lob-pub-api-key
  "k`0`lob``~test =_ ~pub =_ h.31",
  // lob-pub-api-key
  "k`0`lob``~live =_ ~pub =_ h.31",
  // looker-client-secret
  "k`0`looker``3.24",
  // mailchimp-api-key
  "k`0`mailchimp``h.32 =- ~us 9.1 9.1",
  // mailgun-private-api-token
  "k`0`mailgun``~key =- h.32",
  // mailgun-pub-key
  "k`0`mailgun``~pubkey =- h.32",
  // mailgun-signing-key
  "k`0`mailgun``q.32 =- q.8 =- q.8",
  // mapbox-api-token
  "k`0`mapbox``~pk =. 3.60 =. 3.22",
  // mattermost-access-token
  "k`0`mattermost``3.26",
  // maxmind-license-key
  "be`4`=_mmk`3.6 =_ 3.29`",
  // messagebird-api-token, twitter-api-key
  "k`0`messagebird|message-bird|message_bird|twitter``3.25",
  // microsoft-teams-webhook
  "o`0`=.webhook.office.com/webhookb2/``x.80-512",
  // netlify-access-token
  "k`0`netlify``j.40-46",
  // new-relic-browser-api-token
  "k`0`new-relic|newrelic|new_relic``~nrjs =- h.19",
  // new-relic-insert-key
  "k`0`new-relic|newrelic|new_relic``~nrii =- 4.32",
  // new-relic-user-api-key
  "k`0`new-relic|newrelic|new_relic``~nrak =- 3.27",
  // notion-api-token
  "bo`4`=ntn_``9.11 3.32 3.3",
  // npm-access-token, prefect-api-token
  "bo`2`npm_|=pnu_``3.36",
  // octopus-deploy-api-key
  "bo`3`=API-``f.26",
  // okta-access-token
  "k`4`okta``=00 j.40",
  // openshift-user-token
  "bo`3.5`=sha256~``0.43",
  // perplexity-api-key
  "bo`4`=pplx-``3.48",
  // plaid-api-token
  "k`0`plaid``~access =- ~sandbox =- h.8 =- h.4 =- h.4 =- h.4 =- h.12",
  // plaid-api-token
  "k`0`plaid``~access =- ~development =- h.8 =- h.4 =- h.4 =- h.4 =- h.12",
  // plaid-api-token
  "k`0`plaid``~access =- ~production =- h.8 =- h.4 =- h.4 =- h.4 =- h.12",
  // plaid-client-id
  "k`3.5`plaid``3.24",
  // plaid-secret-key
  "k`3.5`plaid``3.30",
  // planetscale-api-token, planetscale-oauth-token, planetscale-password
  "bo`3`=pscale_tkn_|=pscale_oauth_|pscale_pw_``y.32-64",
  // postman-api-token
  "bo`3`=PMAK-``h.24 =- h.34",
  // privateai-api-token
  "k`3`privateai|private-ai|private_ai``1.32",
  // pulumi-api-token
  "bo`2`=pul-``2.40",
  // pypi-upload-token
  "o`3`=pypi-AgEIcHlwaS5vcmc``0.50-1000",
  // rapidapi-access-token
  "k`0`rapidapi``0.50",
  // readme-api-token
  "bo`2`=rdme_``1.70",
  // rubygems-api-token
  "bo`2`=rubygems_``2.48",
  // scalingo-api-token
  "bo`2`=tk-us-``0.48",
  // sendbird-access-token
  "k`0`sendbird``h.40",
  // sendgrid-api-token
  "be`2`=SG.``y.66",
  // sendinblue-api-token
  "bo`2`=xkeysib-``2.64 =- 3.16",
  // sentry-access-token
  "k`3`sentry``h.64",
  // sentry-org-token
  "bo`4.5`=sntrys_eyJpYXQiO``z.60-512",
  // sentry-user-token
  "bo`3.5`=sntryu_``2.64",
  // settlemint-application-access-token, settlemint-personal-access-token, settlemint-service-access-token
  "bo`3`=sm_aat_|=sm_pat_|=sm_sat_``3.16",
  // shippo-api-token
  "bo`2`=shippo_live_|=shippo_test_``h.40",
  // shopify-access-token, shopify-custom-access-token, shopify-private-app-access-token, shopify-shared-secret
  "o`2`=shpat_|=shpca_|=shppa_|=shpss_``h.32",
  // sidekiq-secret
  "k`0`bundle_enterprise__contribsys__com|bundle_gems__contribsys__com``h.8 =: h.8",
  // slack-app-token
  "o`2`xapp-``9.1 =- 3.1-512 =- 9.1-512 =- 3.1-512",
  // slack-bot-token
  "o`3`=xoxb-``9.10-13 =- 9.10-13 4.0-512",
  // slack-config-access-token
  "o`2`xoxe``10.1 ~xox 11.1 =- 9.1 =- 3.163-166",
  // slack-config-refresh-token
  "o`2`xoxe-``9.1 =- 3.146",
  // slack-legacy-bot-token
  "o`2`=xoxb-``9.8-14 =- 3.18-26",
  // slack-legacy-token
  "o`2`=xox``12.1 =- 9.1-512 =- 9.1-512 =- 9.1-512 =- h.1-512",
  // slack-legacy-workspace-token
  "bo`2`=xox``r.1 =- 4.8-512",
  // slack-user-token
  "`2`=xox``13.1 =- 9.10-13 =- 9.10-13 =- 9.10-13 =- 4.28-34",
  // slack-webhook-url
  "o`0`=hooks.slack.com/services/|=hooks.slack.com/workflows/|=hooks.slack.com/triggers/``6.40-512",
  // sonar-api-token
  "k`0`sonar``~squ =_ j.40",
  // sonar-api-token
  "k`0`sonar``~sqp =_ j.40",
  // sonar-api-token
  "k`0`sonar``~sqa =_ j.40",
  // sourcegraph-access-token
  "bo`3`sgp_``h.16 =_ h.40",
  // sourcegraph-access-token
  "bo`3`sgp_local_|sgp_``h.40",
  // square-access-token
  "bo`2`=EAAA|=sq0atp-``0.22-60",
  // stripe-access-token
  "bo`2`=sk_test_|=sk_live_|=sk_prod_|=rk_test_|=rk_live_|=rk_prod_``3.10-99",
  // sumologic-access-id
  "k`3`sumo``=su 3.12",
  // sumologic-access-token
  "k`3`sumo``3.64",
  // telegram-bot-api-token
  "k`0`telegr``9.5-16 =:A 0.34",
  // travisci-access-token
  "k`0`travis``3.22",
  // twilio-api-key
  "be`3`=SK|=AC``h.32",
  // twitch-api-token
  "k`0`twitch``3.30",
  // twitter-access-secret
  "k`0`twitter``3.45",
  // twitter-access-token
  "k`0`twitter``9.15-25 =- 3.20-40",
  // twitter-api-secret
  "k`0`twitter``3.50",
  // twitter-bearer-token
  "k`0`twitter``~aaaaaaaaaaaaaaaaaaaaaa 14.80-100",
  // typeform-api-token
  "k`0`typeform``~tfp =_ y.59",
  // vault-batch-token
  "bo`4`=hvb.``0.138-300",
  // vault-service-token
  "bo`3.5`=hvs.``0.90-120",
  // vault-service-token
  "be`3.5`=s.``3.24",
  // yandex-access-token
  "k`0`yandex``~t =1. 0.1-512 g.0-2 =. 0.86 g.0-2",
  // yandex-api-key
  "k`0`yandex``~aqvn 0.35-38",
  // yandex-aws-access-token
  "k`0`yandex``~yc 0.38",
]
