package config

import (
	"maps"
	"slices"
)

func init() { maps.Copy(samples, serverSamples) }

// bearer logs in with a token of a server.
var bearer = slices.Clip([]string{"kafka.security.protocol=SASL_PLAINTEXT", "kafka.sasl.mechanism=OAUTHBEARER",
	`kafka.sasl.jaas.config=x.OAuthBearerLoginModule required clientId="a" clientSecret="b" scope="s";`, "kafka.sasl.oauthbearer.token.endpoint.url=https://idp/token"})

// serverSamples are samples of keys about the source, its standby and ZooKeeper.
var serverSamples = map[string][]string{
	"canal.instance.detecting.enable":                          {"canal.instance.detecting.sql=select 1", "canal.instance.detecting.enable=true"},
	"canal.instance.detecting.sql":                             {"canal.instance.detecting.enable=true", "canal.instance.detecting.sql=select 1"},
	"canal.instance.detecting.interval.time":                   {"canal.instance.detecting.interval.time=3"},
	"canal.instance.detecting.retry.threshold":                 {"canal.instance.detecting.retry.threshold=1"},
	"canal.instance.detecting.heartbeatHaEnable":               {"canal.instance.detecting.heartbeatHaEnable=true"},
	"canal.instance.standby.address":                           {"canal.instance.standby.address=db2:3306"},
	"canal.instance.standby.journal.name":                      {"canal.instance.standby.address=db2:3306", "canal.instance.standby.journal.name=binlog.000002"},
	"canal.instance.standby.position":                          {"canal.instance.standby.address=db2:3306", "canal.instance.standby.journal.name=binlog.000002", "canal.instance.standby.position=44"},
	"canal.instance.standby.timestamp":                         {"canal.instance.standby.address=db2:3306", "canal.instance.standby.timestamp=1700000000000"},
	"canal.instance.standby.gtid":                              {"canal.instance.standby.address=db2:3306", "canal.instance.gtidon=true", "canal.instance.standby.gtid=3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"},
	"kafka.sasl.oauthbearer.client.credentials.client.id":      append(bearer, "kafka.sasl.oauthbearer.client.credentials.client.id=c"),
	"kafka.sasl.oauthbearer.client.credentials.client.secret":  append(bearer, "kafka.sasl.oauthbearer.client.credentials.client.secret=c"),
	"kafka.sasl.oauthbearer.scope":                             append(bearer, "kafka.sasl.oauthbearer.scope=c"),
	"kafka.sasl.oauthbearer.header.urlencode":                  append(bearer, "kafka.sasl.oauthbearer.header.urlencode=true"),
	"kafka.ssl.keystore.password":                              {"kafka.security.protocol=SSL", "kafka.ssl.keystore.location=client.p12", "kafka.ssl.keystore.type=PKCS12", "kafka.ssl.keystore.password=changeit"},
	"kafka.ssl.truststore.password":                            {"kafka.security.protocol=SSL", "kafka.ssl.truststore.location=client.p12", "kafka.ssl.truststore.type=PKCS12", "kafka.ssl.truststore.password=changeit"},
	"canal.relay.zookeeper.auth":                               {"canal.relay.zookeeper.auth=relay:secret"},
	"canal.relay.zookeeper.tls.ca":                             {"canal.relay.zookeeper.tls.ca=ca.pem"},
	"canal.relay.zookeeper.tls.certificate":                    {"canal.relay.zookeeper.tls.ca=ca.pem", "canal.relay.zookeeper.tls.certificate=client.pem"},
	"canal.relay.zookeeper.tls.key":                            {"canal.relay.zookeeper.tls.ca=ca.pem", "canal.relay.zookeeper.tls.certificate=ca.pem", "canal.relay.zookeeper.tls.key=client.pem"},
	"canal.relay.zookeeper.tls.server.name":                    {"canal.relay.zookeeper.tls.ca=ca.pem", "canal.relay.zookeeper.tls.server.name=zk"},
	"canal.instance.master.sslMode":                            {"canal.instance.master.sslMode=REQUIRED"},
	"canal.instance.master.tlsVersions":                        {"canal.instance.master.sslMode=VERIFY_CA", "canal.instance.master.tlsVersions=TLSv1.3"},
	"canal.instance.master.trustCertificateKeyStoreUrl":        {"canal.instance.master.sslMode=VERIFY_CA", "canal.instance.master.trustCertificateKeyStoreUrl=file:client.pem"},
	"canal.instance.master.trustCertificateKeyStoreType":       {"canal.instance.master.sslMode=VERIFY_CA", "canal.instance.master.trustCertificateKeyStoreUrl=client.pem", "canal.instance.master.trustCertificateKeyStoreType=JKS"},
	"canal.instance.master.trustCertificateKeyStorePassword":   {"canal.instance.master.sslMode=VERIFY_CA", "canal.instance.master.trustCertificateKeyStoreUrl=client.p12", "canal.instance.master.trustCertificateKeyStorePassword=changeit"},
	"canal.instance.master.clientCertificateKeyStoreUrl":       {"canal.instance.master.sslMode=VERIFY_CA", "canal.instance.master.clientCertificateKeyStoreUrl=file:client.pem"},
	"canal.instance.master.clientCertificateKeyStoreType":      {"canal.instance.master.sslMode=VERIFY_CA", "canal.instance.master.clientCertificateKeyStoreUrl=client.pem", "canal.instance.master.clientCertificateKeyStoreType=JKS"},
	"canal.instance.master.clientCertificateKeyStorePassword":  {"canal.instance.master.sslMode=VERIFY_CA", "canal.instance.master.clientCertificateKeyStoreUrl=client.p12", "canal.instance.master.clientCertificateKeyStorePassword=changeit"},
	"canal.instance.standby.sslMode":                           {"canal.instance.standby.sslMode=REQUIRED"},
	"canal.instance.standby.tlsVersions":                       {"canal.instance.standby.sslMode=VERIFY_CA", "canal.instance.standby.tlsVersions=TLSv1.3"},
	"canal.instance.standby.trustCertificateKeyStoreUrl":       {"canal.instance.standby.sslMode=VERIFY_CA", "canal.instance.standby.trustCertificateKeyStoreUrl=file:client.pem"},
	"canal.instance.standby.trustCertificateKeyStoreType":      {"canal.instance.standby.sslMode=VERIFY_CA", "canal.instance.standby.trustCertificateKeyStoreUrl=client.pem", "canal.instance.standby.trustCertificateKeyStoreType=JKS"},
	"canal.instance.standby.trustCertificateKeyStorePassword":  {"canal.instance.standby.sslMode=VERIFY_CA", "canal.instance.standby.trustCertificateKeyStoreUrl=client.p12", "canal.instance.standby.trustCertificateKeyStorePassword=changeit"},
	"canal.instance.standby.clientCertificateKeyStoreUrl":      {"canal.instance.standby.sslMode=VERIFY_CA", "canal.instance.standby.clientCertificateKeyStoreUrl=file:client.pem"},
	"canal.instance.standby.clientCertificateKeyStoreType":     {"canal.instance.standby.sslMode=VERIFY_CA", "canal.instance.standby.clientCertificateKeyStoreUrl=client.pem", "canal.instance.standby.clientCertificateKeyStoreType=JKS"},
	"canal.instance.standby.clientCertificateKeyStorePassword": {"canal.instance.standby.sslMode=VERIFY_CA", "canal.instance.standby.clientCertificateKeyStoreUrl=client.p12", "canal.instance.standby.clientCertificateKeyStorePassword=changeit"},
}
